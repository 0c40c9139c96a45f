package election

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

// Term is one uninterrupted leadership. Its methods are safe for concurrent use.
//
// It has two contexts. That of the callbacks ends when the term is asked to end, or is lost.
// [Term.Context] goes on while callbacks drain, and ends when the lease can no longer be trusted.
type Term struct {
	lease  *redlock.Lease
	margin time.Duration
	since  time.Time

	trusted context.Context // Term.Context
	lose    context.CancelCauseFunc
	work    context.Context // of the callbacks, a child of trusted
	end     context.CancelCauseFunc

	mu    sync.Mutex // guards timer
	timer *time.Timer
}

type termKey struct{}

// TermFrom returns the term that a callback's context, or one made from it, belongs to.
func TermFrom(ctx context.Context) (*Term, bool) {
	t, ok := ctx.Value(termKey{}).(*Term)
	return t, ok
}

// newTerm begins a term. Its contexts have the values of base.
func newTerm(base context.Context, lease *redlock.Lease, margin time.Duration) *Term {
	t := &Term{lease: lease, margin: margin, since: time.Now()}
	base = context.WithValue(context.WithoutCancel(base), termKey{}, t)
	t.trusted, t.lose = context.WithCancelCause(base)
	t.work, t.end = context.WithCancelCause(t.trusted)

	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = time.AfterFunc(time.Until(t.Deadline()), t.expire)
	context.AfterFunc(t.trusted, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.timer.Stop()
	})
	return t
}

// expire ends both contexts at the stop deadline. It asks nobody: no renewal, node or hook can
// hold it up. A renewal that was confirmed since the timer was set has moved the deadline.
func (t *Term) expire() {
	if left := time.Until(t.Deadline()); left > 0 {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.trusted.Err() == nil {
			t.timer.Reset(left)
		}
		return
	}
	t.lose(fmt.Errorf("%w: term %d was not renewed by its stop deadline %s", ErrLost, t.Token(),
		t.Deadline().Format(time.StampMilli)))
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
