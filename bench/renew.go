package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

const (
	leases         = 10_000
	renewers       = 64              // goroutines that take leases, or extend those of redsync
	renewEvery     = 8 * time.Second // all leases are taken by then
	redsyncLasting = 2 * time.Minute // redsync's locks are taken and extended within this time

	// All leases should be on all nodes, because repairing a node that misses one costs a request.
	takeEvery    = time.Second / 3000 // so that the slowest node keeps up
	renewTimeout = time.Second        // of a node
)

// span is the time that one extension took.
type span struct{ from, to time.Time }

// renew measures many leases that are all extended for the first time.
func (b *bench) renew(ctx context.Context) {
	theirs, theirCPU := b.renewRedsync(ctx)
	p := b.open(ctx, 1, func(addrs []string) peer {
		return openLocker(addrs, redlock.WithNodeTimeout(renewTimeout))
	})[0]
	spans := make([]span, leases)
	var extended atomic.Int64
	last := make(chan struct{}, 1)
	once := redlock.WithAutoExtend(redlock.Extension{
		Every: renewEvery, Extended: func(_ int, took time.Duration, err error) {
			now := time.Now()
			i := extended.Add(1)
			if i > leases {
				return // the next extensions have begun
			}
			spans[i-1] = span{now.Add(-took), now}
			if err != nil {
				b.report.fail(err)
			}
			if i == leases {
				last <- struct{}{}
			}
		},
	})
	start := time.Now()
	names := nextNames(leases)
	held := make([]*redlock.Lease, leases)
	check(each(leases, renewers, func(i int) (err error) {
		time.Sleep(time.Until(start.Add(time.Duration(i) * takeEvery)))
		held[i], err = p.locker.Acquire(ctx, names[i], once)
		return err
	}))
	time.Sleep(renewTimeout) // the slowest node has answered all
	if n := extended.Load(); n > 0 {
		check(fmt.Errorf("%d leases were extended before the last one was taken, after %v", n, time.Since(start)))
	}
	var ourCPU time.Duration
	_, requests := b.requestsDuring(ctx, func() {
		before := processorTime()
		must(receive(ctx, last))
		time.Sleep(settling) // the slowest node has answered all
		ourCPU = processorTime() - before
	})
	ours := together(spans)
	b.report.compare("10,000 leases, wall ms", ms(ours), ms(theirs), ms(ours)/ms(theirs), "redsync")
	b.report.compare("10,000 leases, renewed a second", leases/ours.Seconds(), leases/theirs.Seconds(),
		theirs.Seconds()/ours.Seconds(), "redsync")
	b.report.compare("10,000 leases, CPU ms", ms(ourCPU), ms(theirCPU), ms(ourCPU)/ms(theirCPU), "redsync")
	b.report.figure("10,000 leases, requests to a node", float64(requests))
	for _, lease := range held {
		lease.Abandon()
	}
}

// together returns the total time that spans cover. There are pauses between them, because extensions are aligned to a
// grid.
func together(spans []span) (total time.Duration) {
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	var end time.Time
	for _, s := range spans {
		if s.from.Before(end) {
			s.from = end
		}
		if s.to.After(end) {
			total += s.to.Sub(s.from)
			end = s.to
		}
	}
	return total
}

func (b *bench) renewRedsync(ctx context.Context) (wall, cpu time.Duration) {
	p := b.open(ctx, 1, func(addrs []string) peer { return redsyncOf(addrs, redsyncLasting) })[0]
	names := nextNames(leases)
	held := make([]redsyncHold, leases)
	check(each(leases, renewers, func(i int) error {
		h, err := p.wait(ctx, names[i])
		held[i], _ = h.(redsyncHold)
		return err
	}))
	before, start := processorTime(), time.Now()
	check(each(leases, renewers, func(i int) error {
		if err := held[i].Extend(ctx); err != nil {
			b.report.fail(err)
		}
		return context.Cause(ctx)
	}))
	return time.Since(start), processorTime() - before
}
