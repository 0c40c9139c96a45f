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
	round, cause := k.quorum.Ask(ctx, call, nil, k.decided)
	t := k.count(round.Answers())

	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.heldLocked(); err != nil {
		return err // ended while the nodes were asked
	}
	if t.yes >= k.need {
		l.prolongLocked(valid.deadline())
		return nil
	}
	err = k.failed("extend", l.name, t, ErrLost, cause)
	if errors.Is(err, ErrLost) {
		l.endLocked(err)
	}
	return err
}

// prolongLocked moves the deadline, never backwards: extensions may overlap.
func (l *Lease) prolongLocked(deadline time.Time) {
	if !deadline.After(l.deadline) {
		return
	}
	l.deadline = deadline
	if l.timer != nil {
		l.timer.Reset(time.Until(deadline))
	}
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
