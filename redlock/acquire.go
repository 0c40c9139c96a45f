package redlock

import (
	"context"
	"errors"
	"time"
)

// Acquire takes the lock called name, 1 to 200 bytes of UTF-8 without control characters, and waits until it can or until
// ctx is done; the error then wraps both the cause of ctx and the last outcome. It asks again when the lock is released, of
// which the nodes tell it, when the holder's lease must have run out, and when too few nodes answered, after a pause.
// Callers that wait for the same lock in one process queue up, and cost the nodes no more than one. It ends at once where
// waiting is in vain: wrong passwords, missing rights or another length of the node list on so many nodes that no quorum is
// left.
func (l *Locker) Acquire(ctx context.Context, name string, opts ...AcquireOption) (lease *Lease, err error) {
	r, found := l.newRequest(name, opts)
	if len(found) > 0 {
		return nil, errors.Join(found...)
	}
	turn, err := l.enter(ctx, name)
	if err != nil {
		return nil, err
	}
	c := newContender(l, r, turn)
	defer func() { // also where a hook panics
		turn.leave(lease != nil, err, c.owed, c.value.String())
	}()
	return c.contend(ctx)
}

// TryAcquire makes one attempt to take the lock called name. It returns when the outcome is decided, at the latest at the
// node timeout. The error is or wraps [ErrHeld], [ErrGuarded], [ErrNoQuorum], [ErrExpired] where the answers took so long
// that nothing of the lease was left, [ErrConfig], [ErrClosed], or the cause of ctx. After an error nothing of ours stays on
// the nodes: what was set is removed in the background.
func (l *Locker) TryAcquire(ctx context.Context, name string, opts ...AcquireOption) (*Lease, error) {
	r, found := l.newRequest(name, opts)
	if len(found) > 0 {
		return nil, errors.Join(found...)
	}
	v := value{contender: newContenderID(), attempt: 1, text: r.valueText()}
	began := time.Now()
	lease, _, err := l.attempt(ctx, newGrant(r, v), l.askAll)
	r.tellEnd(began, lease, err)
	return lease, err
}
