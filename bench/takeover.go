package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

const (
	deaths   = 150
	deathTTL = 2 * time.Second
	apart    = 30 * time.Millisecond // from one death to the next
)

// takeover is of locks whose holder died, each with one waiter: the time from when the keys run out.
func (b *bench) takeover(ctx context.Context) error {
	return withLockers(ctx, b.cluster.Addrs(), 2, func(all []oursPeer) error {
		holder, heir := all[0].locker, all[1].locker
		var turn atomic.Int64
		start := time.Now()
		took, err := repeat(deaths, deaths, func() (time.Duration, error) {
			time.Sleep(time.Until(start.Add(time.Duration(turn.Add(1)) * apart)))
			return b.takeOver(ctx, holder, heir)
		})
		if err != nil {
			return err
		}
		const what = "taking over from a dead holder"
		p50, p99 := b.report.latency(what, took, nil, "")
		b.report.atMost(what+", p50 ms", p50, 30)
		b.report.atMost(what+", p99 ms", p99, 80)
		return nil
	})
}

func (b *bench) takeOver(ctx context.Context, holder, heir *redlock.Locker) (time.Duration, error) {
	name := nextName()
	dead, err := holder.TryAcquire(ctx, name, redlock.WithLeaseTTL(deathTTL))
	if err != nil {
		return 0, err
	}
	dead.Abandon()
	free, err := b.freeAt(ctx, name)
	if err != nil {
		return 0, err
	}
	lease, err := heir.Acquire(ctx, name)
	if err != nil {
		return 0, err
	}
	took := time.Since(free)
	return took, lease.Release(ctx)
}
