package main

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	idlers    = 20
	idleFor   = ttl * 3 / 2
	extending = ttl / 3
)

// idle is of waiters that have nothing to do, each with clients of its own, while the holder goes on.
func (b *bench) idle(ctx context.Context) error {
	return withLockers(ctx, b.cluster.Addrs(), 1+idlers, func(all []oursPeer) error {
		name := nextName()
		lease, err := all[0].locker.TryAcquire(ctx, name)
		if err != nil {
			return err
		}
		waiting, enough := context.WithCancel(ctx)
		errs := make([]error, idlers)
		var wg sync.WaitGroup
		for i, p := range all[1:] {
			wg.Go(func() { // ends with waiting
				_, err := p.locker.Acquire(waiting, name)
				if waiting.Err() == nil {
					errs[i] = errors.Join(err, errors.New("a waiter did not wait"))
				}
			})
		}
		per, err := b.idleRequests(ctx, name, lease.Extend)
		enough()
		wg.Wait()
		if err := errors.Join(append(errs, err, lease.Release(ctx))...); err != nil {
			return err
		}
		b.report.figure("a waiter that waits, TTL 10 s", "commands/s", per)
		b.report.atMost("commands of an idle waiter, a second over all nodes", per, 0.6)
		return nil
	})
}

// idleRequests is how many requests a waiter sends in a second, to all nodes together, while the holder
// extends: that much is known and left out.
func (b *bench) idleRequests(
	ctx context.Context, name string, extend func(context.Context) error,
) (float64, error) {
	if err := b.waiting(ctx, name, idlers); err != nil {
		return 0, err
	}
	time.Sleep(time.Second) // they ask once more, after they have subscribed
	start := time.Now()
	extensions := 0
	sent, err := b.requestsDuring(ctx, func() error {
		for ; time.Since(start) < idleFor; extensions++ {
			if err := extend(ctx); err != nil {
				return err
			}
			time.Sleep(extending)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	total := sum(sent) - extensions*nodes
	return float64(total) / idlers / time.Since(start).Seconds(), nil
}
