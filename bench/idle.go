package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/redlock"
)

const (
	idlers   = 20
	idleFor  = 3 * ttl // several rounds of an idle waiter's work
	joining  = 20_000
	joinHeld = 5 * time.Minute // by another process
)

// idle measures waiters that have nothing to do while the holder extends its lease.
func (b *bench) idle(ctx context.Context) {
	b.idling(ctx, "commands a second of a waiter", func(p peer) peer {
		p.wait = func(ctx context.Context, name string) (hold, error) {
			return p.locker.Acquire(ctx, name, redlock.WithAutoExtend(redlock.Extension{}))
		}
		return p
	})
}

// follow measures candidates that have nothing to do while the leader leads.
func (b *bench) follow(ctx context.Context) {
	b.idling(ctx, "commands a second of a follower", candidate)
}

// idling makes one peer hold a lock, first alone and then while others wait for it. The difference in commands is what
// the waiters send.
func (b *bench) idling(ctx context.Context, figure string, as func(peer) peer) {
	open := func(addrs []string) peer { return as(openLocker(addrs)) }
	holder := b.open(ctx, 1, open)[0]
	name := nextName()
	h := must(holder.wait(ctx, name))
	alone := b.rate(ctx)
	waiters := b.open(ctx, idlers, open)
	waiting, enough := context.WithCancel(ctx)
	defer enough()
	over := inBackground(idlers, func(i int) error {
		time.Sleep(rand.N(ttl / 4)) // not all in step
		return waitInVain(waiting, waiters[i], name)
	})
	time.Sleep(ttl/4 + time.Second) // all have found the holder
	b.report.figure(figure, (b.rate(ctx)-alone)/idlers)
	enough()
	check(errors.Join(<-over, h.Release(ctx)))
}

// rate returns how many commands a second all nodes together receive.
func (b *bench) rate(ctx context.Context) float64 {
	sent, _ := b.requestsDuring(ctx, func() { time.Sleep(idleFor) })
	return float64(sent) / idleFor.Seconds()
}

// waitInVain waits for a lock until ctx is done.
func waitInVain(ctx context.Context, p peer, name string) error {
	if _, err := p.wait(ctx, name); ctx.Err() == nil {
		return errors.Join(err, errors.New("a waiter did not wait"))
	}
	return nil
}

// join measures what it costs one process to start waiting for many locks that another process holds.
func (b *bench) join(ctx context.Context) {
	locker := b.lockers(ctx, 1)[0]
	names := nextNames(joining)
	for _, admin := range b.admins {
		pipe := admin.Pipeline()
		for _, name := range names {
			records.Default.Hold(ctx, pipe, name, joinHeld)
		}
		must(pipe.Exec(ctx))
	}
	waiting, enough := context.WithCancel(ctx)
	defer enough()
	before, start := processorTime(), time.Now()
	over := inBackground(joining, func(i int) error { return waitInVain(waiting, locker, names[i]) })
	took := b.quiet(ctx).Sub(start)
	b.report.figure("20,000 names, CPU ms", ms(processorTime()-before))
	b.report.figure("20,000 names, wall ms", ms(took))
	enough()
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("waiters go on although their context is done"))
	defer cancel()
	check(must(receive(ctx, over)))
}
