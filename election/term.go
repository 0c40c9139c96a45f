package election

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/redlock"
)

// Term is one uninterrupted leadership. Its methods are safe for concurrent use.
//
// It has two contexts. That of the callbacks ends when the term is asked to end, or is lost.
// [Term.Context] goes on while callbacks drain, and ends when the lease can no longer be trusted.
type Term struct {
	elector *Elector
	lease   *redlock.Lease
	since   time.Time
	clock   *clock.Clock

	trusted context.Context // Term.Context
	lose    context.CancelCauseFunc
	work    context.Context // of the callbacks, a child of trusted
	end     context.CancelCauseFunc

	mu    sync.Mutex // guards the fields below
	timer *clock.Timer
	ended time.Time // when the term was asked to end, or lost
	over  time.Time // when its own context ended
}

type termKey struct{}

// TermFrom returns the term that a callback's context, or one made from it, belongs to.
func TermFrom(ctx context.Context) (*Term, bool) {
	t, ok := ctx.Value(termKey{}).(*Term)
	return t, ok
}

// newTerm starts a term. Its contexts have the values of base.
func newTerm(base context.Context, e *Elector, lease *redlock.Lease) *Term {
	t := &Term{elector: e, lease: lease, since: time.Now(), clock: e.locker.Clock()}
	base = context.WithValue(context.WithoutCancel(base), termKey{}, t)
	t.trusted, t.lose = context.WithCancelCause(base)
	t.work, t.end = context.WithCancelCause(t.trusted)
	lost := t.lease.Context()
	stop := context.AfterFunc(lost, func() { t.lose(fmt.Errorf("%w: %w", ErrLost, context.Cause(lost))) })

	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = t.clock.AfterFunc(t.stopAt(), t.expire)
	context.AfterFunc(t.work, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.ended = time.Now()
	})
	context.AfterFunc(t.trusted, func() {
		stop()
		t.mu.Lock()
		defer t.mu.Unlock()
		t.over = time.Now()
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

// canStart reports whether work may start: the term has not been asked to end, and is not over.
func (t *Term) canStart() bool { return t.work.Err() == nil && t.Valid() }

// endedAt returns when the term was asked to end, or lost; now, if it was not.
func (t *Term) endedAt() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended.IsZero() {
		return time.Now()
	}
	return t.ended
}

// late returns for how long work of the term has outlived it: since the lease was over, and the work has had the stop margin
// to return, which it has from the end of a pause on if the deadline came in it. Not above 0: it is not late.
func (t *Term) late() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over.IsZero() {
		return 0
	}
	return min(time.Since(t.lease.Deadline()), time.Since(t.over)-t.elector.config.margin)
}

// Resign asks the term to end: its callbacks' contexts end with [ErrResigned] and cause, they drain,
// the lease is released, and this process does not campaign for the cooldown. It does not wait, and
// does nothing if the term has ended, also when a pause has hidden that until now; a later term is not touched.
func (t *Term) Resign(cause error) {
	if !t.Valid() {
		return
	}
	if cause == nil {
		t.end(ErrResigned)
		return
	}
	t.end(fmt.Errorf("%w: %w", ErrResigned, cause))
}

// Token is the fencing number of the term's lease. A resource that remembers the largest it has
// seen can refuse the work of an earlier leader. It is below 2^53: a BIGINT in SQL.
func (t *Term) Token() uint64 { return t.lease.Token() }

// Since is when the term began.
func (t *Term) Since() time.Time { return t.since }

// Deadline is the stop deadline: when the term's contexts end unless it is renewed before, the
// stop margin ahead of anybody else's first chance to lead. It moves with each renewal, also of a term that drains.
func (t *Term) Deadline() time.Time { return t.lease.Deadline().Add(-t.elector.config.margin) }

// Valid reports whether the lease can be trusted right now: before the stop deadline, not lost and not released. It is true
// while callbacks drain. Once it is false it stays false: it ends a term whose deadline has passed, even if a renewal is on
// its way.
func (t *Term) Valid() bool {
	if t.trusted.Err() != nil {
		return false
	}
	if time.Now().Before(t.Deadline()) {
		return true
	}
	t.tooLate()
	return false
}

// Context is done when the lease can no longer be trusted: at the stop deadline or when it was lost ([ErrLost]), when the
// time to drain is over, or when it was released. context.Cause tells which. In a callback, and in [Term.Do], work that should
// be finished rather than cut off when the leader is asked to stop belongs under it; all other work under the callback's own
// context. Nobody waits for work elsewhere: it learns of the end of the term when the next leader may start.
func (t *Term) Context() context.Context { return t.trusted }

// Do calls fn as part of the term from outside a callback, as in the handler of a request, and returns what it returns. fn's
// context ends with ctx, and as that of a callback does; the lease is not released before fn has returned. If the term has
// ended, or been asked to, fn is not called, and the error wraps the reason.
func (t *Term) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	e := t.elector
	ctx, w := e.newWork(context.WithValue(ctx, termKey{}, t), t, nameOf(fn))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer w.cancel()
	stop := context.AfterFunc(t.work, func() { cancel(context.Cause(t.work)) })
	defer stop()

	e.mu.Lock()
	if !t.canStart() {
		e.mu.Unlock()
		return fmt.Errorf("election: %q: term %d is over: %w", e.name, t.Token(), context.Cause(t.work))
	}
	e.addLocked(w)
	e.mu.Unlock()
	defer e.returned(w, nil)
	return fn(ctx)
}
