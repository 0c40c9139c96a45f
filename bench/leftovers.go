package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

const (
	littered     = 100                    // holds of each kind
	leftoverName = "leftover-"            // that all their locks begin with
	settling     = 500 * time.Millisecond // above two node timeouts, far below the TTL
)

// leftovers is of the keys that holds of every ending leave behind: those that lost a race, found the
// lock held, found no quorum, were cancelled while the nodes were asked or while they waited, and
// those that were finished, also while a majority was hung.
func (b *bench) leftovers(ctx context.Context) error {
	return withLockers(ctx, b.cluster.Addrs(), 2, func(all []oursPeer) error {
		l := &litter{one: all[0].locker, two: all[1].locker}
		names := makeNames(leftoverName, 6*littered)
		kinds := []func(context.Context, string){
			l.races, l.meetsAHolder, l.cancelsAsking, l.cancelsWaiting,
		}
		for _, kind := range kinds {
			l.many(names[:littered], func(name string) { kind(ctx, name) })
			names = names[littered:]
		}
		if err := l.outage(ctx, b, names[:littered], names[littered:]); err != nil {
			return err
		}
		time.Sleep(settling)

		left, err := b.keysLeft(ctx)
		if err != nil {
			return err
		}
		b.report.figure("holds that failed", "", float64(l.failed.Load()))
		b.report.figure("holds that were cancelled", "", float64(l.cancelled.Load()))
		b.report.figure("holds that were finished", "", float64(l.finished.Load()))
		b.report.figure("keys left behind", "", float64(left))
		b.report.atMost("keys left behind", float64(left), 0)
		return nil
	})
}

// litter counts what became of holds.
type litter struct {
	one, two                    *redlock.Locker
	failed, cancelled, finished atomic.Int64
}

// many does this for all names, some at a time.
func (l *litter) many(names []string, do func(name string)) {
	const abreast = 10
	var wg sync.WaitGroup
	for first := range abreast {
		wg.Go(func() {
			for i := first; i < len(names); i += abreast {
				do(names[i])
			}
		})
	}
	wg.Wait()
}

// end counts a hold, and finishes it if it was won.
func (l *litter) end(ctx context.Context, lease *redlock.Lease, err error) {
	switch {
	case err == nil:
		_ = lease.Release(ctx) // works with ctx done; without a quorum its keys go when the nodes answer
		l.finished.Add(1)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		l.cancelled.Add(1)
	default:
		l.failed.Add(1)
	}
}

func (l *litter) try(ctx context.Context, locker *redlock.Locker, name string) {
	lease, err := locker.TryAcquire(ctx, name)
	l.end(ctx, lease, err)
}

func (l *litter) races(ctx context.Context, name string) {
	var wg sync.WaitGroup
	wg.Go(func() { l.try(ctx, l.one, name) })
	wg.Go(func() { l.try(ctx, l.two, name) })
	wg.Wait()
}

func (l *litter) meetsAHolder(ctx context.Context, name string) {
	lease, err := l.one.TryAcquire(ctx, name)
	l.try(ctx, l.two, name)
	l.end(ctx, lease, err)
}

func (l *litter) cancelsAsking(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, rand.N(time.Millisecond))
	defer cancel()
	l.try(ctx, l.one, name)
}

func (l *litter) cancelsWaiting(ctx context.Context, name string) {
	lease, err := l.one.TryAcquire(ctx, name)
	waiting, cancel := context.WithTimeout(ctx, rand.N(20*time.Millisecond))
	defer cancel()
	late, lateErr := l.two.Acquire(waiting, name)
	l.end(waiting, late, lateErr)
	l.end(ctx, lease, err)
}

// outage hangs a majority of nodes, while some locks are asked for and others, taken before, are
// released.
func (l *litter) outage(ctx context.Context, b *bench, asked, held []string) (err error) {
	var leases []*redlock.Lease
	for _, name := range held {
		lease, err := l.one.TryAcquire(ctx, name)
		if err != nil {
			l.failed.Add(1)
			continue
		}
		leases = append(leases, lease)
	}
	for i := range nodes/2 + 1 {
		node := b.cluster.Node(i)
		if err := node.Hang(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, node.Wake()) }()
	}
	var wg sync.WaitGroup
	for _, lease := range leases {
		wg.Go(func() { l.end(ctx, lease, nil) })
	}
	for _, name := range asked {
		wg.Go(func() { l.try(ctx, l.two, name) })
	}
	wg.Wait()
	return nil
}

// keysLeft counts over all nodes.
func (b *bench) keysLeft(ctx context.Context) (left int, err error) {
	for _, admin := range b.admins {
		keys := admin.Scan(ctx, 0, "*", 10_000).Iterator()
		for keys.Next(ctx) {
			if strings.HasPrefix(keys.Val(), lockKey(leftoverName)) {
				left++
			}
		}
		err = errors.Join(err, keys.Err())
	}
	return left, err
}
