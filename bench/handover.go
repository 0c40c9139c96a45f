package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

const (
	handovers = 150
	slower    = 60 // of redsync's
	abreast   = 5  // of those, at a time: their waiters sleep most of it
)

// handover is of a lock that is released while others wait for it, each with clients of its own.
func (b *bench) handover(ctx context.Context) error {
	const most = 10
	return withLockers(ctx, b.cluster.Addrs(), 1+most, func(all []oursPeer) error {
		var redsync []peer
		for range 1 + most {
			redsync = append(redsync, openRedsync(b.cluster.Addrs()))
		}
		return withPeers(ctx, redsync, func() error {
			for _, waiters := range []int{1, most} {
				ours, err := repeat(handovers, 1, func() (time.Duration, error) {
					return handOver(ctx, waitersOf(all)[:1+waiters], func(name string) error {
						err := b.waiting(ctx, name, waiters)
						time.Sleep(between(10, 30)) // they ask once more, after they have subscribed
						return err
					})
				})
				if err != nil {
					return err
				}
				theirs, err := repeat(slower, abreast, func() (time.Duration, error) {
					return handOver(ctx, waitersOf(redsync)[:1+waiters], func(string) error {
						time.Sleep(between(100, 350)) // at any point of their pauses
						return nil
					})
				})
				if err != nil {
					return err
				}
				what := fmt.Sprintf("handing over on release, of %d waiting", waiters)
				p50, p99 := b.report.latency(what, ours, theirs, "redsync")
				b.report.atMost(what+", p50 ms", p50, 3)
				b.report.atMost(what+", p99 ms", p99, 15)
			}
			return nil
		})
	})
}

func waitersOf[P any](peers []P) (all []waiter) {
	for _, p := range peers {
		all = append(all, any(p).(waiter))
	}
	return all
}

// handOver has the first peer hold a lock until all others wait for it, and returns how long after
// the call that released it the first of them had it.
func handOver(
	ctx context.Context, peers []waiter, wait func(name string) error,
) (time.Duration, error) {
	name := nextName()
	h, err := peers[0].acquire(ctx, name)
	if err != nil {
		return 0, err
	}
	waiting, enough := context.WithCancel(ctx)
	defer enough()
	won := make([]time.Time, len(peers)-1)
	errs := make([]error, len(peers)-1)
	var wg sync.WaitGroup
	for i, p := range peers[1:] {
		wg.Go(func() {
			h, err := p.wait(waiting, name)
			if err != nil {
				if waiting.Err() == nil {
					errs[i] = err
				}
				return
			}
			won[i] = time.Now()
			enough() // before this one makes room for another
			errs[i] = h.Release(ctx)
		})
	}
	err = wait(name)
	released := time.Now()
	err = errors.Join(err, h.Release(ctx))
	wg.Wait()
	if err := errors.Join(append(errs, err)...); err != nil {
		return 0, err
	}
	won = slices.DeleteFunc(won, time.Time.IsZero)
	if len(won) == 0 {
		return 0, errors.Join(errors.New("nobody took over"), context.Cause(ctx))
	}
	return slices.MinFunc(won, time.Time.Compare).Sub(released), nil
}

// repeat takes n samples, so many at a time.
func repeat(n, abreast int, sample func() (time.Duration, error)) ([]time.Duration, error) {
	took, errs := make([]time.Duration, n), make([]error, n)
	var wg sync.WaitGroup
	for first := range abreast {
		wg.Go(func() {
			for i := first; i < n; i += abreast {
				if took[i], errs[i] = sample(); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return took, errors.Join(errs...)
}

func between(least, most int) time.Duration {
	return time.Duration(least+rand.IntN(most-least)) * time.Millisecond
}
