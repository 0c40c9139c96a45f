package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/caller"
)

// Acquire waits for the lock called name, 1 to 200 bytes of UTF-8 without invisible characters, and returns a lease on
// it. If ctx is done first, the error wraps both the cause of ctx and the last outcome.
//
// Acquire tries again when a node reports that the lock was released, when the holder's lease must have run out, and,
// after a pause, when too few nodes answered. Callers of one process that wait for the same lock queue up, and together
// cost the nodes no more than one. Acquire gives up at once if waiting is pointless: if wrong passwords, missing
// permissions or node lists of another length leave no quorum, or if ctx comes from a [Lease] of this lock that is still held:
// locks are not reentrant.
func (l *Locker) Acquire(ctx context.Context, name string, opts ...AcquireOption) (lease *Lease, err error) {
	r, found := l.settings.newRequest(name, opts)
	if len(found) > 0 {
		return nil, errors.Join(found...)
	}
	if err := l.heldByCaller(ctx, name); err != nil {
		return nil, err
	}
	ticket, err := l.queues.enter(ctx, l.open, name)
	if err != nil {
		return nil, err
	}
	w := newWait(l, r, ticket)
	defer func() { // even if the function that an election has called after each attempt panics
		if more := ticket.leave(lease != nil, err); !more && lease == nil && w.value.attempt > 0 {
			l.leaveLine(name, w.value.String(), &l.tells.leave) // nobody of this process waits any more
		}
	}()
	return w.acquire(ctx)
}

// TryAcquire makes one attempt to take the lock called name. It returns when the outcome is decided, at the latest
// after the node timeout. The error is or wraps [ErrHeld], [ErrGuarded], [ErrNoQuorum], [ErrConfig], [ErrClosed], the
// cause of ctx, or [ErrExpired] if the answers took so long that nothing was left of the lease. After an error,
// anything the attempt set on the nodes is removed in the background.
func (l *Locker) TryAcquire(ctx context.Context, name string, opts ...AcquireOption) (*Lease, error) {
	r, found := l.settings.newRequest(name, opts)
	if len(found) > 0 {
		return nil, errors.Join(found...)
	}
	if err := l.heldByCaller(ctx, name); err != nil {
		return nil, err
	}
	v := value{contender: newContenderID(), attempt: 1, text: r.valueText()}
	began := time.Now()
	lease, _, err := l.attempt(ctx, newGrant(r, v), l.askAll)
	r.reportLast(began, lease, err)
	return lease, err
}

// inside returns a context for work under the lease.
func (s *Lease) inside(ctx context.Context) context.Context {
	return caller.With(ctx, "the work under the lock", s.Name(), s)
}

// heldByCaller returns an error if the caller works under a lease of the lock.
func (l *Locker) heldByCaller(ctx context.Context, name string) error {
	err := caller.Where(ctx, func(owner any) bool {
		s, ok := owner.(*Lease)
		return ok && s.locker == l && s.Name() == name && s.Valid()
	})
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w by this call: acquire %q: locks are not reentrant: %w", ErrHeld, name, err)
}
