package redlock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
)

// Lease is a lock that was won, until its deadline. Its methods are safe for concurrent use.
type Lease struct {
	*grant // the one that won it
	locker *Locker
	token  uint64
	base   context.Context // the values of Acquire's context

	once     sync.Once // the one release, or abandonment; further callers wait for it
	released error     // its outcome

	mu       sync.Mutex      // guards the fields below
	deadline time.Time       // by the Locker's clock
	repairs  map[int]*repair // the last one of each node, until the lease is over
	end      error           // why it is over, nil while it is held
	ctx      context.Context // made when somebody asks for it
	cancel   context.CancelCauseFunc
	timer    *clock.Timer // ends ctx at the deadline
}

func newLease(l *Locker, g *grant, token uint64, base context.Context, deadline time.Time) *Lease {
	return &Lease{locker: l, grant: g, token: token, base: base, deadline: deadline}
}

// Name returns the lock's name.
func (s *Lease) Name() string { return s.name }

// Token returns the fencing number: the largest that the nodes of the deciding quorum counted for this lock. A resource
// that remembers the largest it has seen can refuse the work of an older holder. It is below 2^53: a BIGINT in SQL, and exact in
// JSON.
func (s *Lease) Token() uint64 { return s.token }

// Deadline returns the instant until which nobody else can hold the lock, by this process's monotonic clock. It moves with
// each extension, and it comes nearer by the time that the machine was suspended, during which that clock stands still: to
// decide anything use [Lease.Valid] or [Lease.Context].
func (s *Lease) Deadline() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.locker.clock.Local(s.deadline)
}

// Valid reports whether the lock is held right now. By the time the caller acts on it, it may not be.
func (s *Lease) Valid() bool { return s.heldAt(s.locker.clock.Now()) }

// Context returns a context that is done when the lease is released or abandoned ([ErrReleased]), lost ([ErrLost]) or at
// its deadline ([ErrExpired]), by a timer that waits for no node; context.Cause tells which. It has the values of the
// context that Acquire was called with, but does not end with it.
func (s *Lease) Context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil {
		s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(s.base))
		if ended := s.heldLocked(); ended != nil {
			s.cancel(ended)
		} else {
			s.timer = s.locker.clock.AfterFunc(s.deadline, s.expire)
		}
	}
	return s.ctx
}

// Abandon stops extending the lease and leaves it to run out: at [Lease.Deadline] for its holder, and a little later for
// others. It is the ending for work that has not stopped, since nobody else starts before then. It does not touch the
// nodes, and a later Release does not either; after a Release it does nothing.
func (s *Lease) Abandon() {
	s.once.Do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.endLocked(fmt.Errorf("%w: lease %q was abandoned", ErrReleased, s.name))
		s.released = abandoned{s.end}
	})
}

// abandoned is what Release returns of a lease that was abandoned.
type abandoned struct{ error }

func (e abandoned) Unwrap() error { return e.error }

// expire ends the lease if its deadline has passed.
func (s *Lease) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.heldLocked()
}

// heldLocked returns nil while the lease is held, and otherwise why it is not. It ends one whose deadline has passed.
func (s *Lease) heldLocked() error { return s.heldAtLocked(s.locker.clock.Now()) }

func (s *Lease) heldAtLocked(now time.Time) error {
	if s.end == nil && !now.Before(s.deadline) {
		s.endLocked(fmt.Errorf("%w: lease %q, at %s", ErrExpired, s.name,
			s.locker.clock.Local(s.deadline).Format(time.StampMilli)))
	}
	return s.end
}

// endLocked records why the lease is over, once.
func (s *Lease) endLocked(why error) {
	if s.end != nil {
		return
	}
	s.end = why
	if s.cancel != nil {
		s.cancel(why)
		if s.timer != nil {
			s.timer.Stop()
		}
	}
	s.locker.forget(s)
}

// heldAt reports whether the lock is held at an instant of the Locker's clock.
func (s *Lease) heldAt(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end == nil && now.Before(s.deadline)
}

// leftAt is how long the lease lasts from an instant of the Locker's clock on.
func (s *Lease) leftAt(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deadline.Sub(now)
}
