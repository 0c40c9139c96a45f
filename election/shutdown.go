package election

import (
	"context"
	"fmt"
	"time"
)

// Shutdown has Run drain and hand over within ctx, and waits for it. It returns what Run returns; or, if ctx is done first,
// its cause, as [ErrUndrained] if there is work left: then the lease is abandoned. If Run has never been called, it returns
// [ErrStopped] when it is: a Shutdown that overtakes Run is not lost. A Shutdown after Run does nothing.
func (e *Elector) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	r := e.run
	e.refused = !e.ran
	e.mu.Unlock()
	if r == nil {
		return nil
	}
	r.stop(fmt.Errorf("%w: shutdown", ErrStopped))
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		abort := time.AfterFunc(left-e.reserve(left), r.abort)
		defer abort.Stop()
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		r.abort()
	}
	if isDone(r.done) {
		return r.err
	}
	if isDone(e.waitIdle()) {
		return fmt.Errorf("election: %q is stopping: %w", e.name, context.Cause(ctx))
	}
	return fmt.Errorf("%w: %w", e.undrained(), context.Cause(ctx))
}

// reserve is what is kept of a shutdown's time for callbacks that are cut off to return, and for the release.
func (e *Elector) reserve(left time.Duration) time.Duration {
	return min(e.config.margin, left/4) + 2*e.nodeTimeout()
}

func (e *Elector) nodeTimeout() time.Duration { return e.locker.Settings().NodeTimeout }
