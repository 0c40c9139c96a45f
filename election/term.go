package election

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
)

// Term is one uninterrupted leadership. Its methods are safe for concurrent use.
//
// It has two contexts. That of the callbacks ends when the term is asked to end, or is lost.
// [Term.Context] goes on while callbacks drain, and ends when the lease can no longer be trusted.
type Term struct {
	candidacy
	margin time.Duration
	since  time.Time
	clock  *clock.Clock

	trusted context.Context // Term.Context
	lose    context.CancelCauseFunc
	work    context.Context // of the callbacks, a child of trusted
	end     context.CancelCauseFunc

	mu    sync.Mutex // guards timer
	timer *clock.Timer
}

type termKey struct{}

// TermFrom returns the term that a callback's context, or one made from it, belongs to.
func TermFrom(ctx context.Context) (*Term, bool) {
	t, ok := ctx.Value(termKey{}).(*Term)
	return t, ok
}

// newTerm begins a term. Its contexts have the values of base.
func newTerm(base context.Context, won candidacy, margin time.Duration, c *clock.Clock) *Term {
	t := &Term{candidacy: won, margin: margin, since: time.Now(), clock: c}
	base = context.WithValue(context.WithoutCancel(base), termKey{}, t)
	t.trusted, t.lose = context.WithCancelCause(base)
	t.work, t.end = context.WithCancelCause(t.trusted)
	lost := t.lease.Context()
	stop := context.AfterFunc(lost, func() { t.lose(fmt.Errorf("%w: %w", ErrLost, context.Cause(lost))) })

	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = c.AfterFunc(t.stopAt(), t.expire)
	context.AfterFunc(t.trusted, func() {
		stop()
		t.mu.Lock()
		defer t.mu.Unlock()
		t.timer.Stop()
	})
	return t
}

// stopAt is the stop deadline by the Locker's clock, which counts the machine's sleep.
func (t *Term) stopAt() time.Time { return t.clock.Now().Add(time.Until(t.Deadline())) }

// expire ends both contexts at the stop deadline. It asks nobody: no renewal, node or hook can
// hold it up. A renewal that was confirmed since the timer was set has moved the deadline.
func (t *Term) expire() {
	if time.Until(t.Deadline()) > 0 {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.trusted.Err() == nil {
			t.timer.Reset(t.stopAt())
		}
		return
	}
	t.tooLate()
}

func (t *Term) tooLate() {
	t.lose(fmt.Errorf("%w: term %d was not renewed by its stop deadline %s", ErrLost, t.Token(),
		t.Deadline().Format(time.StampMilli)))
}

// fit tells whether callbacks may start. A term that may not start one is over: else a renewal that is
// confirmed before the timer has run would have it go on without that callback.
func (t *Term) fit() bool {
	if t.Valid() {
		return true
	}
	t.tooLate()
	return false
}

// Resign asks the term to end: its callbacks' contexts end with [ErrResigned] and cause, they drain,
// the lease is released, and this process does not campaign for the cooldown. It does not wait, and
// does nothing if the term has ended; a later term is not touched.
func (t *Term) Resign(cause error) {
	if cause == nil {
		t.end(ErrResigned)
		return
	}
	t.end(fmt.Errorf("%w: %w", ErrResigned, cause))
}

// Token is the fencing number of the term's lease. A resource that remembers the largest it has
// seen can refuse the work of an earlier leader.
func (t *Term) Token() uint64 { return t.lease.Token() }

// Since is when the term began.
func (t *Term) Since() time.Time { return t.since }

// Deadline is the stop deadline: when the term's contexts end unless it is renewed before, the
// stop margin ahead of anybody else's first chance to lead. It moves with each renewal.
func (t *Term) Deadline() time.Time { return t.lease.Deadline().Add(-t.margin) }

// Valid tells whether the lease can be trusted right now: before the stop deadline, not lost and
// not released. It is true while callbacks drain.
func (t *Term) Valid() bool { return t.trusted.Err() == nil && time.Now().Before(t.Deadline()) }

// Context is done when the lease can no longer be trusted: at the stop deadline or when it was
// lost ([ErrLost]), when the time to drain is over, or when it was released. context.Cause tells
// which. Work that should be finished rather than cut off when the leader is asked to stop belongs
// under it; all other work under the callback's own context.
func (t *Term) Context() context.Context { return t.trusted }
