// Package gocronlock lets gocron v2 use this library's election or locks:
//
//	jobs, err := gocron.NewScheduler(gocron.WithDistributedElector(gocronlock.Elector(elector)))
//
//	locker, err := gocronlock.Locker(lock, time.Minute)
//	jobs, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
//
// Neither claims ticks. gocron asks once, before a run. Its replicas tick by their own clocks, and its jobs do not
// learn that the lease is lost. If a short job released its lock at once, a replica whose clock is behind would run
// the same tick again. So the lock is kept for a minimum time, which must be at least as long as clocks and network
// delays may differ, and shorter than the time between two ticks. If a pause is longer than that, the tick still runs
// twice. Package scheduler claims each tick on a majority of nodes, by their clocks, and does not have these limits.
package gocronlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
)

// ErrNotLeader means that this process does not lead.
var ErrNotLeader = errors.New("gocronlock: another replica leads, or none")

// Elector makes jobs run on the leader alone.
func Elector(e *election.Elector) gocron.Elector { return elector{e} }

type elector struct{ *election.Elector }

// IsLeader returns nil if this process leads.
func (e elector) IsLeader(context.Context) error {
	if !e.Elector.IsLeader() {
		return ErrNotLeader
	}
	return nil
}

// Locker makes each run take a lock named after its job. The lock is kept for at least atLeast, even if the process
// dies, and for as long as the run lasts. atLeast must be from 100 ms to l's MaxTTL. Too short: replicas whose ticks
// differ by more run a tick twice. Too long: the lock is still held at the next tick, and nobody runs it.
func Locker(l *redlock.Locker, atLeast time.Duration) (gocron.Locker, error) {
	if longest := l.Settings().MaxTTL; atLeast < redlock.MinTTL || atLeast > longest {
		return nil, fmt.Errorf("gocronlock: the minimum time %v must be from %v to the locker's max ttl %v",
			atLeast, redlock.MinTTL, longest)
	}
	return locker{l, atLeast}, nil
}

type locker struct {
	*redlock.Locker
	atLeast time.Duration
}

// Lock makes one attempt. If another replica has the lock, that one runs the tick.
func (l locker) Lock(ctx context.Context, key string) (gocron.Lock, error) {
	begin := time.Now()
	lease, err := l.TryAcquire(ctx, key, redlock.WithLeaseTTL(l.atLeast), redlock.WithAutoExtend(redlock.Extension{}))
	if err != nil {
		return nil, err
	}
	return lock{lease, begin, l.atLeast}, nil
}

type lock struct {
	*redlock.Lease
	begin   time.Time
	atLeast time.Duration
}

// Unlock lets the lease of a short run expire, because it lasts exactly for the minimum time. A lease that was
// extended is released when the minimum time is over; if it were left to expire, it could block the next tick.
func (l lock) Unlock(ctx context.Context) error {
	end := l.begin.Add(l.atLeast)
	left := time.Until(end)
	switch {
	case left <= 0:
		return l.Release(ctx)
	case l.Deadline().After(end):
		// Nothing waits for this timer. If the release fails, the lease expires; Close of the Locker abandons it.
		time.AfterFunc(left, func() { _ = l.Release(context.WithoutCancel(ctx)) })
	default:
		l.Abandon()
	}
	return nil
}
