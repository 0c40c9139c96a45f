package election

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/caller"
	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/redlock"
)

// Term is one uninterrupted leadership. Its methods are safe for concurrent use.
type Term struct {
	elector *Elector
	lease   *redlock.Lease
	since   time.Time
	clock   *clock.Clock

	trusted context.Context // Term.Context
	lose    context.CancelCauseFunc
	work    context.Context // the callbacks' context, a child of trusted
	end     context.CancelCauseFunc

	mu    sync.Mutex // guards the fields below
	timer *clock.Timer
	over  time.Time // when trusted ended
}

type termKey struct{}

// TermFrom returns the term of a callback's context, or of a context derived from it.
func TermFrom(ctx context.Context) (*Term, bool) {
	t, ok := ctx.Value(termKey{}).(*Term)
	return t, ok
}

// newTerm starts a term. Its contexts have the values of base.
func newTerm(base context.Context, e *Elector, lease *redlock.Lease) *Term {
	t := &Term{elector: e, lease: lease, since: time.Now(), clock: e.parts.Clock}
	base = t.inside(context.WithValue(context.WithoutCancel(base), termKey{}, t), "a term of", e.name)
	t.trusted, t.lose = context.WithCancelCause(base)
	t.work, t.end = context.WithCancelCause(t.trusted)
	lost := t.lease.Context()
	context.AfterFunc(lost, func() { t.lose(fmt.Errorf("%w: %w", ErrLost, context.Cause(lost))) })

	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = t.clock.AfterFunc(t.stopAt(), t.expire)
	context.AfterFunc(t.work, func() {
		drain := time.AfterFunc(e.config.DrainTimeout, func() { // a hook may hold up Run
			t.lose(fmt.Errorf("%w: the time to drain is over", context.Cause(t.work)))
		})
		context.AfterFunc(t.trusted, func() { drain.Stop() })
	})
	context.AfterFunc(t.trusted, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.over = time.Now()
		t.timer.Stop()
	})
	return t
}

// inside returns a context for work of the term: neither the term nor its lease is over before the work has returned.
func (t *Term) inside(ctx context.Context, kind, name string) context.Context {
	return caller.With(ctx, kind, name, t, t.lease)
}

// stopAt returns the stop deadline by the Locker's clock, which includes time suspended.
func (t *Term) stopAt() time.Time { return t.clock.Now().Add(time.Until(t.Deadline())) }

// expire ends both contexts at the stop deadline. No renewal, node or hook can delay it. If a renewal has moved the deadline since
// the timer was set, it sets the timer again.
func (t *Term) expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Valid() {
		t.timer.Reset(t.stopAt())
	}
}

// canStart reports whether work may start: the term has not been asked to end, and is valid.
func (t *Term) canStart() bool { return t.work.Err() == nil && t.Valid() }

// late returns how long work of the term has been late, or a value not above 0 if it is not late. Work is late when the lease is
// over and [Term.Context] ended at least the stop margin ago. If the deadline passed during a pause of the process, that context
// ends, and the margin starts, only after the pause.
func (t *Term) late() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over.IsZero() {
		return 0
	}
	return min(time.Since(t.lease.Deadline()), time.Since(t.over)-t.elector.config.StopMargin)
}

// Resign asks the term to end. Its callbacks' contexts end with [ErrResigned] and cause. When the callbacks have returned, the
// lease is released, and this process does not campaign for the cooldown. Resign does not wait. It does nothing if the term has
// ended, even if a pause has hidden that until now. It never affects a later term.
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

// Elector returns the Elector that leads.
func (t *Term) Elector() *Elector { return t.elector }

// Token returns the fencing token of the term's lease. A resource that remembers the largest token it has seen can
// refuse the work of an earlier leader. Tokens are below 2^53, so they fit a BIGINT in SQL.
func (t *Term) Token() uint64 { return t.lease.Token() }

// Since returns when the term began.
func (t *Term) Since() time.Time { return t.since }

// Deadline returns the stop deadline: when the term's contexts end unless the lease is renewed before. It is the stop margin before
// anybody else can lead. Each renewal moves it, even while the term drains.
func (t *Term) Deadline() time.Time { return t.lease.Deadline().Add(-t.elector.config.StopMargin) }

// Valid reports whether the lease can be trusted right now: the stop deadline has not passed, and the lease is neither lost nor
// released. It is true while callbacks drain. Once it is false it stays false: Valid ends a term whose deadline has passed, even
// if a renewal is in flight.
func (t *Term) Valid() bool {
	if t.trusted.Err() != nil {
		return false
	}
	if time.Now().Before(t.Deadline()) {
		return true
	}
	t.lose(fmt.Errorf("%w: term %d was not renewed by its stop deadline %s", ErrLost, t.Token(),
		t.Deadline().Format(time.StampMilli)))
	return false
}

// Context returns a context that ends when the lease can no longer be trusted: at the stop deadline or when it was lost
// ([ErrLost]), when the time to drain is over, or when it was released. context.Cause tells which.
//
// Use it in a callback, or in [Term.Do], for work that should be finished rather than cut off when the leader is asked to stop. Use
// the callback's own context for all other work. Nobody waits for work outside a callback and Do: its context may end only when
// the next leader may start.
func (t *Term) Context() context.Context { return t.trusted }

// Do calls fn as part of the term and returns fn's error. Use it outside a callback, as in a request handler. fn's context ends
// when ctx ends or the callbacks' contexts end. The lease is not released before fn has returned. If the term has ended, or was
// asked to end, Do does not call fn, and its error wraps the reason.
func (t *Term) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	e := t.elector
	if fn == nil {
		return fmt.Errorf("election: %q: Term.Do: the function is nil", e.name)
	}
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
	defer e.returned(w)
	return fn(ctx)
}
