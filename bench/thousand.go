package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"
)

const (
	elections  = 1000
	startEvery = time.Second / 500 // so that no node falls behind, and the leases are on all of them
	steadyFor  = 5 * ttl / 3       // five renewals
	settled    = ttl / 3           // what was not set on all nodes is repaired by then
)

// thousand is of many elections in one process, which leads in all of them, beside one.
func (b *bench) thousand(ctx context.Context) error {
	return withLockers(ctx, b.cluster.Addrs(), 1, func(all []oursPeer) error {
		p := candidate{all[0]}
		one, err := b.reign(ctx, p, 1)
		if err != nil {
			return err
		}
		many, err := b.reign(ctx, p, elections)
		if err != nil {
			return err
		}
		b.report.compare("1,000 elections in one process", "% of a core", many.processor, one.processor,
			many.processor/one.processor, "1 election")
		b.report.compare("", "comm./s·node", many.commands, one.commands, many.commands/one.commands,
			"1 election")
		b.report.atMost("1,000 elections, % of a core", many.processor, 5)
		b.report.atMost("commands of a leader, a second and node", one.commands, 0.4)
		return nil
	})
}

// expense is of a process that leads.
type expense struct {
	processor float64 // percent of one core
	commands  float64 // a second, on the busiest node
}

// reign has p win n elections, and measures when it leads in all of them.
func (b *bench) reign(ctx context.Context, p candidate, n int) (e expense, err error) {
	names := makeNames("reign-", n)
	led := make([]hold, n)
	start := time.Now()
	failed := share(n, func(i int) (err error) {
		time.Sleep(time.Until(start.Add(time.Duration(i) * startEvery)))
		led[i], err = p.wait(ctx, names[i])
		return err
	})
	defer func() {
		ended := share(n, func(i int) error {
			if led[i] == nil {
				return nil
			}
			return led[i].Release(ctx)
		})
		err = errors.Join(err, ended.last)
	}()
	if failed.n > 0 {
		return e, fmt.Errorf("%d of %d elections not won: %w", failed.n, n, failed.last)
	}
	time.Sleep(settled)

	before, err := processorTime()
	if err != nil {
		return e, err
	}
	sent, err := b.requestsDuring(ctx, func() error {
		time.Sleep(steadyFor)
		return nil
	})
	if err != nil {
		return e, err
	}
	after, err := processorTime()
	for _, h := range led {
		if !h.(*campaign).elector.IsLeader() {
			err = errors.Join(err, errors.New("an election was lost meanwhile"))
		}
	}
	return expense{
		processor: 100 * float64(after-before) / float64(steadyFor),
		commands:  float64(slices.Max(sent)) / steadyFor.Seconds(),
	}, err
}

// processorTime is what this process has used so far.
func processorTime() (time.Duration, error) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, fmt.Errorf("processor time: %w", err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), nil
}
