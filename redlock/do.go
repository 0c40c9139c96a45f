package redlock

import (
	"context"
	"errors"
	"fmt"
)

// Do runs fn while it holds the lock. It waits as [Locker.Acquire] does, forever if ctx has no deadline, extends the lease while
// fn runs, and releases it after fn has returned. fn's context ends with ctx and with the lease. The error is fn's own, or the
// release's, or both joined. If it wraps [ErrLost] or [ErrExpired], somebody else may have held the lock before fn returned. A
// panic of fn continues after the release.
func (l *Locker) Do(
	ctx context.Context, name string, fn func(ctx context.Context, lease *Lease) error,
	opts ...AcquireOption,
) (err error) {
	if fn == nil {
		return fmt.Errorf("%w: do %q: the function is nil", ErrConfig, name)
	}
	opts = append([]AcquireOption{WithAutoExtend(Extension{})}, opts...)
	lease, err := l.Acquire(ctx, name, opts...)
	if err != nil {
		return err
	}
	work, cancel := context.WithCancelCause(lease.inside(ctx))
	stop := context.AfterFunc(lease.Context(), func() { cancel(context.Cause(lease.Context())) })
	defer func() {
		stop()
		cancel(nil)
		end := lease.Release(ctx)
		switch {
		case end == nil, errors.Is(end, ErrReleased): // fn may have abandoned it
		case err == nil:
			err = end
		default:
			err = errors.Join(err, end)
		}
	}()
	return fn(work, lease)
}
