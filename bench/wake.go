package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	sleepers   = 10
	sleeps     = 5 // of each
	sleeperTTL = 2 * time.Second
	sleepFor   = sleeperTTL + 300*time.Millisecond
)

// wake is of leaders whose process is stopped until its lease is over: the time from when it may go on
// until its callback knows, by its context.
func (b *bench) wake(ctx context.Context) error {
	took := make([][]time.Duration, sleepers)
	errs := make([]error, sleepers)
	var wg sync.WaitGroup
	for i := range sleepers {
		wg.Go(func() {
			time.Sleep(time.Duration(i) * sleepFor / sleepers) // they wake one by one
			took[i], errs[i] = b.sleeper(ctx)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	b.report.latency("from waking up to the end of a stale term", slices.Concat(took...), nil, "")
	return nil
}

// sleeper stops one process several times. When it has woken it wins again.
func (b *bench) sleeper(ctx context.Context) (took []time.Duration, err error) {
	p, err := startLeaders(ctx, leaders{
		Nodes: b.cluster.Addrs(), Elections: []lasting{{nextName(), sleeperTTL}},
	})
	if err != nil {
		return nil, err
	}
	defer p.kill()
	for range sleeps {
		if _, err := p.next(ctx); err != nil {
			return nil, err
		}
		time.Sleep(between(0, int(sleeperTTL/3/time.Millisecond))) // at any point between two renewals
		if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			return nil, err
		}
		time.Sleep(sleepFor)
		woken, err := machineTime()
		if err = errors.Join(err, p.cmd.Process.Signal(syscall.SIGCONT)); err != nil {
			return nil, err
		}
		over, err := p.next(ctx)
		if err != nil {
			return nil, err
		}
		if !over.Over || over.At < woken {
			return nil, fmt.Errorf("a term did not end when its process woke: %+v", over)
		}
		took = append(took, over.At-woken)
	}
	return took, nil
}
