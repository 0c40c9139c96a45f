package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/caller"
)

// Shutdown makes Run drain and hand over, waits for Run, and returns Run's error. Work that has not returned shortly before the
// deadline of ctx is cut off. If ctx is done first, the error wraps the cause of ctx. If work is still running then, the error is
// also [ErrUndrained], and the lease is abandoned.
//
// If Run has never been called, Shutdown returns nil, and the next Run returns [ErrStopped]: a Shutdown that overtakes Run is not
// lost. A Shutdown after Run does nothing.
//
// Shutdown does not wait for its own caller. From a callback, a run of a job or [Term.Do], with the context that these get, it
// makes Run drain and returns an error at once. It does the same when a hook, the logger or the panic handler, which have no
// context, has not returned for the TTL.
func (e *Elector) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	r := e.run
	e.refused = !e.ran
	e.mu.Unlock()
	if r == nil {
		return nil
	}
	r.stop(errors.New("shutdown"))
	if err := e.notFromInside(ctx); err != nil {
		return fmt.Errorf("election: %q is stopping, but Shutdown does not wait: %w", e.name, err)
	}
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		abort := time.AfterFunc(left-e.reserve(left), r.abort)
		defer abort.Stop()
	}
	check := time.NewTicker(e.config.TTL / 2)
	defer check.Stop()
	for ctx.Err() == nil {
		select {
		case <-r.done:
			return r.err
		case <-ctx.Done():
		case <-check.C:
			if calls := e.heldUp(); len(calls) > 0 {
				return fmt.Errorf("%w: Run stops only then, and if that waits for Shutdown, %w", calls[0].Err, caller.ErrSelf)
			}
		}
	}
	r.abort()
	if isDone(r.done) {
		return r.err
	}
	if isDone(e.whenIdle()) {
		return fmt.Errorf("election: %q is stopping: %w", e.name, context.Cause(ctx))
	}
	return fmt.Errorf("%w: %w", e.undrained(), context.Cause(ctx))
}

// reserve returns how much of a shutdown's time is kept for callbacks to return after they were cut off, and for the release.
func (e *Elector) reserve(left time.Duration) time.Duration {
	return min(e.config.StopMargin, left/4) + 2*e.locker.Settings().NodeTimeout
}
