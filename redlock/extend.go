package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/retry"
)

// Extend prolongs the lease by its TTL, counted from now, if a majority of nodes still has it as
// ours. [ErrNoQuorum]: not known; the lease is valid until its old deadline, so try again. A lease
// that ended stays ended: [ErrExpired] after its deadline, [ErrLost] if on a majority the lock is
// gone or another's, [ErrReleased]. It is never acquired anew: somebody may have held the lock in
// between.
func (l *Lease) Extend(ctx context.Context) error {
	l.mu.Lock()
	err := l.heldLocked()
	l.mu.Unlock()
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("redlock: extend %q: %w", l.name, context.Cause(ctx))
	}

	k := l.locker
	call := extendScript.Call([]string{k.lockKey(l.name), k.fenceKey(l.name)},
		l.value, l.ttl.Milliseconds(), l.token)
	valid := validity{sent: time.Now(), ttl: l.ttl, drift: k.settings.Drift}
	round, cause := k.quorum.Ask(ctx, call, k.decided)
	t := k.count(round.Answers())
	if t.yes < k.need {
		return l.notExtended(k.failed("extend", l.name, t, ErrLost, cause))
	}
	if err := l.prolong(valid.deadline()); err != nil {
		return err
	}
	l.repair(round)
	return nil
}

// notExtended ends the lease if err says that it is lost, and returns what counts first.
func (l *Lease) notExtended(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ended := l.heldLocked(); ended != nil {
		return ended // while the nodes were asked
	}
	if errors.Is(err, ErrLost) {
		l.endLocked(err)
	}
	return err
}

// prolong moves the deadline, never backwards, since extensions may overlap; and not that of a lease
// that ended while the nodes were asked.
func (l *Lease) prolong(deadline time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.heldLocked(); err != nil {
		return err
	}
	if deadline.After(l.deadline) {
		l.deadline = deadline
		if l.timer != nil {
			l.timer.Reset(time.Until(deadline))
		}
	}
	return nil
}

// autoExtend extends the lease in the background until it has ended or e.Max is reached. The
// goroutine ends with the lease's context and is waited for by the Locker's Close.
func (l *Lease) autoExtend(e Extension) {
	ctx := l.Context()
	pause := retry.Backoff{Min: e.Every / 20, Max: e.Every / 2}
	l.locker.start(func() {
		for n := 0; e.Max == 0 || n < e.Max; n++ {
			if retry.Sleep(ctx, e.Every) != nil {
				return
			}
			// A failure is not the end while the lease lasts: the next extension may succeed.
			_, _ = retry.Within(ctx, l.Deadline(), e.Attempts, pause, l.Extend, ErrLost)
		}
	})
}
