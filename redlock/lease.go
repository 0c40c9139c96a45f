package redlock

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
)

// Lease is a lock that was won, until its deadline. Its methods are safe for concurrent use.
type Lease struct {
	*grant // the one that won it
	locker *Locker
	token  uint64
	base   context.Context // the values of Acquire's context

	counted atomic.Bool // every node has counted at least as far as token

	once     sync.Once // the one release; further callers wait for it
	released error     // its outcome

	mu       sync.Mutex      // guards the fields below
	deadline time.Time       // by the Locker's clock
	repairs  map[int]*repair // the last one of each node, until the lease is over
	end      error           // why it is over, nil while it is held
	ctx      context.Context // made when somebody asks for it
	cancel   context.CancelCauseFunc
	timer    *clock.Timer // ends ctx at the deadline
}

// Name is the lock's name.
func (l *Lease) Name() string { return l.name }

// Token is the fencing number: the largest that the nodes of the deciding quorum counted for this
// lock. A resource that remembers the largest it has seen can refuse the work of an older holder.
func (l *Lease) Token() uint64 { return l.token }

// Deadline is the instant until which nobody else can hold the lock, by this process's monotonic
// clock. It moves with each extension; and it comes nearer by the time that the machine was suspended,
// during which that clock stands still.
func (l *Lease) Deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.locker.clock.Local(l.deadline)
}

// Valid tells whether the lock is held right now. By the time the caller acts on it, it may not be.
func (l *Lease) Valid() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end == nil && l.locker.clock.Now().Before(l.deadline)
}

// Context is done when the lease is released or abandoned ([ErrReleased]), lost ([ErrLost]) or at
// its deadline ([ErrExpired]), by a timer that waits for no node; context.Cause tells which. It has
// the values of the context that Acquire was called with, but does not end with it.
func (l *Lease) Context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil {
		l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(l.base))
		if ended := l.heldLocked(); ended != nil {
			l.cancel(ended)
		} else {
			l.timer = l.locker.clock.AfterFunc(l.deadline, l.expire)
		}
	}
	return l.ctx
}

// expire ends the lease if its deadline has passed.
func (l *Lease) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.heldLocked()
}

// heldLocked returns nil while the lease is held, else why it is not. It ends one whose deadline
// has passed.
func (l *Lease) heldLocked() error {
	if l.end == nil && !l.locker.clock.Now().Before(l.deadline) {
		l.endLocked(fmt.Errorf("%w: lease %q, at %s", ErrExpired, l.name,
			l.locker.clock.Local(l.deadline).Format(time.StampMilli)))
	}
	return l.end
}

// endLocked records why the lease is over, once.
func (l *Lease) endLocked(why error) {
	if l.end != nil {
		return
	}
	l.end = why
	if l.cancel != nil {
		l.cancel(why)
		if l.timer != nil {
			l.timer.Stop()
		}
	}
	l.locker.forget(l)
}

// Abandon stops extending the lease and leaves it to run out: at [Lease.Deadline] for its holder,
// and a little later for others. It is the ending for work that has not stopped, since nobody else
// starts before then. It does not touch the nodes.
func (l *Lease) Abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked(fmt.Errorf("%w: lease %q was abandoned", ErrReleased, l.name))
}
