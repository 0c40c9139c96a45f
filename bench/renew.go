package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"

	"github.com/redlockfx/redlockfx/redlock"
)

const (
	leases         = 10_000
	renewers       = 64              // of redsync's; and those who take leases
	renewEvery     = 8 * time.Second // all leases are there by then
	redsyncLasting = 2 * time.Minute // takes and extends all of them meanwhile

	// All leases are to be on all nodes, since each that is not is repaired by a request of its own.
	takeEvery    = time.Second / 3000 // leaves the nodes time, of which the slowest would fall behind
	renewTimeout = time.Second        // of a node
)

// renew is of many locks that are all extended once.
func (b *bench) renew(ctx context.Context) error {
	theirs, err := b.renewRedsync(ctx)
	if err != nil {
		return err
	}
	var repaired atomic.Int64
	ours, requests, err := b.renewOurs(ctx, redlock.Hooks{
		Repaired: func(_, _ string) { repaired.Add(1) },
	})
	if err != nil {
		return err
	}
	most := float64(slices.Max(requests))
	b.report.compare("renewing 10,000 leases once", "ms", ms(ours), ms(theirs),
		ours.Seconds()/theirs.Seconds(), "redsync")
	b.report.figure("", "req./node", most)
	b.report.figure("", "repairs", float64(repaired.Load()))
	b.report.atLeast("renewing 10,000 leases, times faster than redsync",
		theirs.Seconds()/ours.Seconds(), 10)
	b.report.atMost("renewing 10,000 leases, requests a node", most, 110)
	return nil
}

func (b *bench) renewRedsync(ctx context.Context) (took time.Duration, err error) {
	p := openRedsync(b.cluster.Addrs())
	err = withPeers(ctx, []peer{p}, func() error {
		names := makeNames("renew-redsync-", leases)
		held := make([]redsyncHold, leases)
		failed := share(leases, func(i int) error {
			held[i] = redsyncHold{p.redsync.NewMutex(names[i], redsync.WithExpiry(redsyncLasting))}
			return held[i].LockContext(ctx)
		})
		if failed.n > 0 {
			return fmt.Errorf("%d of %d locks not taken: %w", failed.n, leases, failed.last)
		}
		start := time.Now()
		failed = share(leases, func(i int) error { return held[i].Extend(ctx) })
		took = time.Since(start)
		b.report.failures(failed)
		return nil
	})
	return took, err
}

// renewOurs takes leases that are extended in the background, once.
func (b *bench) renewOurs(
	ctx context.Context, hooks redlock.Hooks,
) (took time.Duration, requests []int, err error) {
	p, seen, err := openSeen(b.cluster.Addrs(),
		redlock.WithNodeTimeout(renewTimeout), redlock.WithHooks(hooks))
	if err != nil {
		return 0, nil, err
	}
	err = withPeers(ctx, []peer{p}, func() error {
		held := make([]*redlock.Lease, leases)
		defer func() {
			for _, lease := range held {
				if lease != nil {
					lease.Abandon()
				}
			}
		}()
		names := makeNames("renew-", leases)
		once := redlock.WithAutoExtend(redlock.Extension{Every: renewEvery, Max: 1})
		start := time.Now()
		failed := share(leases, func(i int) (err error) {
			time.Sleep(time.Until(start.Add(time.Duration(i) * takeEvery)))
			held[i], err = p.locker.Acquire(ctx, names[i], once)
			return err
		})
		if failed.n > 0 {
			return fmt.Errorf("%d of %d leases not taken: %w", failed.n, leases, failed.last)
		}
		time.Sleep(renewTimeout) // the slowest node may not have answered all yet
		taken := time.Now()
		requests, err = b.requestsDuring(ctx, func() error { return renewed(ctx, held) })
		if err != nil {
			return err
		}
		began := extendedAt(held, ttl-p.locker.Settings().Allowance(ttl))
		if began[0].Before(taken) {
			return fmt.Errorf("taking %d leases took longer than %v", leases, renewEvery)
		}
		took = inGroups(began, seen.sorted())
		return nil
	})
	return took, requests, err
}

// renewed returns when the deadlines of all have moved, and the slowest node has had its time.
func renewed(ctx context.Context, held []*redlock.Lease) error {
	before := make([]time.Time, len(held))
	for i, lease := range held {
		before[i] = lease.Deadline()
	}
	ctx, cancel := context.WithTimeout(ctx, ttl)
	defer cancel()
	for i, lease := range held {
		for !lease.Deadline().After(before[i]) {
			if ctx.Err() != nil {
				return fmt.Errorf("lease %d of %d was not renewed: %w", i, leases,
					cmp.Or(context.Cause(lease.Context()), context.Cause(ctx)))
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	time.Sleep(settling)
	return nil
}

// extendedAt is when each lease began to be extended, which its deadline tells; in order.
func extendedAt(held []*redlock.Lease, lasting time.Duration) []time.Time {
	began := make([]time.Time, len(held))
	for i, lease := range held {
		began[i] = lease.Deadline().Add(-lasting)
	}
	slices.SortFunc(began, time.Time.Compare)
	return began
}

// inGroups is how long renewing took in all. As the leases' times are moved to a grid, they are due in
// some groups. Each takes from when the first of its leases began to be extended to the last answer
// of any node.
func inGroups(began, answered []time.Time) (total time.Duration) {
	const gap = renewEvery / 16 / 2 // half a step of the grid
	start := began[0]
	for i, at := range began {
		last := i == len(began)-1
		if !last && began[i+1].Sub(at) < gap {
			continue
		}
		end := at
		for _, t := range answered {
			if last || t.Before(began[i+1]) {
				end = t
			}
		}
		total += end.Sub(start)
		if !last {
			start = began[i+1]
		}
	}
	return total
}

// share has so many things done by a fixed number of goroutines.
func share(n int, do func(i int) error) failures {
	var next atomic.Int64
	failed := make([]failures, renewers)
	var wg sync.WaitGroup
	for w := range renewers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				failed[w].add(do(i))
			}
		})
	}
	wg.Wait()
	var all failures
	for _, f := range failed {
		all.join(f)
	}
	return all
}
