// Package gocronlock has gocron v2 use this module's election, or its locks:
//
//	jobs, err := gocron.NewScheduler(gocron.WithDistributedElector(gocronlock.Elector(elector)))
//
//	locker, err := gocronlock.Locker(lock, time.Minute)
//	jobs, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
//
// Neither is a claim. gocron asks once, before a run; its replicas tick by their own clocks, and its jobs are not told
// when the lease is lost. A lock that is released as soon as a short job is done lets a replica whose clock is
// behind run the same tick again: so it is kept for a while, at least as long as clocks and links may differ, and
// shorter than the time between two ticks. A pause that is longer still runs it twice. Package scheduler claims each
// tick on a majority of nodes, by their clock, and has none of this.
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

// ErrNotLeader says that this process does not lead.
var ErrNotLeader = errors.New("gocronlock: another replica leads, or none")

// Elector has jobs run on the leader alone.
func Elector(e *election.Elector) gocron.Elector { return elector{e} }

type elector struct{ *election.Elector }

// IsLeader is nil where this process leads.
func (e elector) IsLeader(context.Context) error {
	if !e.Elector.IsLeader() {
		return ErrNotLeader
	}
	return nil
}

// Locker has a run take the lock of the job's name. It is kept for at least atLeast from then on, also if the
// process dies, and for as long as the run lasts. atLeast must be from 100 ms to l's MaxTTL. Too short: replicas that
// are apart by more run a tick twice. Too long: the next tick finds it held, and nobody runs that.
func Locker(l *redlock.Locker, atLeast time.Duration) (gocron.Locker, error) {
	if longest := l.Settings().MaxTTL; atLeast < redlock.MinTTL || atLeast > longest {
		return nil, fmt.Errorf("gocronlock: at least %v must be from %v to the locker's max ttl %v",
			atLeast, redlock.MinTTL, longest)
	}
	return locker{l, atLeast}, nil
}

type locker struct {
	*redlock.Locker
	atLeast time.Duration
}

// Lock makes one attempt: where another replica has the lock, the tick is its.
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

// Unlock leaves the lease of a short run to run out, as it has the length of the least. One that was extended is
// released when the least is over: left to run out, it could be in the way of the next tick.
func (l lock) Unlock(ctx context.Context) error {
	end := l.begin.Add(l.atLeast)
	left := time.Until(end)
	switch {
	case left <= 0:
		return l.Release(ctx)
	case l.Deadline().After(end):
		// Nobody waits for it: what fails runs out by itself, and Close of the Locker abandons it.
		time.AfterFunc(left, func() { _ = l.Release(context.WithoutCancel(ctx)) })
	default:
		l.Abandon()
	}
	return nil
}
