package main

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	crashes    = 10 // processes that are killed
	crashLeads = 15 // elections that each of them leads
	crashTTL   = 2 * time.Second
	crashStep  = 40 * time.Millisecond  // by which TTLs differ, so that leases do not end together
	crashApart = 700 * time.Millisecond // from one kill to the next
)

// crash is of leaders whose process is killed, each with one follower: the time from when the lease has
// run out until the follower's callback has started.
func (b *bench) crash(ctx context.Context) error {
	return withLockers(ctx, b.cluster.Addrs(), 1, func(all []oursPeer) error {
		var doomed []*process
		defer func() {
			for _, p := range doomed {
				p.kill()
			}
		}()
		var names []string
		for range crashes {
			l := leaders{Nodes: b.cluster.Addrs()}
			for i := range crashLeads {
				name := nextName()
				l.Elections = append(l.Elections, lasting{name, crashTTL + time.Duration(i)*crashStep})
				names = append(names, name)
			}
			p, err := startLeaders(ctx, l)
			if err != nil {
				return err
			}
			doomed = append(doomed, p)
		}
		for _, p := range doomed {
			for range crashLeads {
				if _, err := p.next(ctx); err != nil {
					return err
				}
			}
		}
		took, err := b.inherit(ctx, candidate{all[0]}, names, doomed)
		if err != nil {
			return err
		}
		const what = "taking over from a killed leader"
		p50, p99 := b.report.latency(what, took, nil, "")
		b.report.atMost(what+", p50 ms", p50, 35)
		b.report.atMost(what+", p99 ms", p99, 80)
		return nil
	})
}

// inherit has the heir follow in all elections, kills the processes that lead them, crashLeads each, one
// by one, and returns how long after each lease's end the heir led.
func (b *bench) inherit(
	ctx context.Context, heir candidate, names []string, doomed []*process,
) ([]time.Duration, error) {
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	runs := make([]hold, len(names))
	won := make([]time.Time, len(names))
	errs := make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { // ends with ctx
			runs[i], errs[i] = heir.wait(ctx, name)
			won[i] = time.Now()
		})
	}
	free, err := b.killAll(ctx, names, doomed)
	if err != nil {
		enough()
	}
	wg.Wait()
	took := make([]time.Duration, len(names))
	for i, run := range runs {
		if errs[i] == nil {
			errs[i] = run.Release(ctx)
			took[i] = won[i].Sub(free[i])
		}
	}
	return took, errors.Join(append(errs, err)...)
}

// killAll returns when each lease runs out.
func (b *bench) killAll(
	ctx context.Context, names []string, doomed []*process,
) (free []time.Time, err error) {
	free = make([]time.Time, len(names))
	for _, name := range names {
		if err := b.waiting(ctx, name, 1); err != nil {
			return free, err
		}
	}
	for n, p := range doomed {
		time.Sleep(crashApart)
		p.kill()
		for i := n * crashLeads; i < (n+1)*crashLeads; i++ {
			if free[i], err = b.freeAt(ctx, names[i]); err != nil {
				return free, err
			}
		}
	}
	return free, nil
}
