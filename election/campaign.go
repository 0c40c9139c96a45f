package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/retry"
	"github.com/redlockfx/redlockfx/redlock"
)

// renewal is what came of one renewal of the lease.
type renewal struct {
	attempts int
	took     time.Duration
	err      error
}

// campaign returns a lease with time left to lead, and what will be heard of its renewals. nil: Run was told to stop, or
// this process can never lead, and the error says why.
func (e *Elector) campaign(r *run) (*redlock.Lease, <-chan renewal, error) {
	var view outlook
	told := func(took time.Duration, err error) {
		if err != nil && !done(r.stopping) {
			e.logAttempt(&view, err)
		}
		e.config.hooks.attempt(took, err)
	}
	attempted := func(took time.Duration, err error) {
		e.tell("the hook Attempt, or the logger", func() { told(took, err) })
	}
	for failures := 0; !r.isStopping(); {
		if needed, _ := e.isNeeded(); !needed {
			e.tell("the logger", e.logUnneeded)
			view.since = time.Time{} // nobody asks meanwhile
			e.awaitNeed(r.stopping, true)
			continue
		}
		renewals := make(chan renewal, 8)
		lease, err := e.acquire(r.stopping, attempted, renewals)
		switch {
		case err == nil && r.isStopping():
			if err := lease.Release(r.stopping); err != nil {
				e.tell("the logger", func() { e.logLeft(lease, err) })
			}
			return nil, nil, nil
		case err == nil && time.Until(lease.Deadline()) > e.config.enough():
			e.tell("the logger", func() { e.logOutcome(&view) })
			return lease, renewals, nil
		case err == nil: // a pause since the request has used the lease up: nothing starts on what is left
			err := lease.Release(r.stopping)
			e.tell("the logger", func() { e.logUsedUp(lease, err) })
		case errors.Is(err, redlock.ErrClosed):
			return nil, nil, fmt.Errorf("election: %q cannot lead any more: %w", e.name, err)
		}
		if errors.Is(err, errUnneeded) {
			continue
		}
		failures++
		_ = retry.Sleep(r.stopping, e.config.backoff.After(failures)) // the loop looks at stopping itself
	}
	return nil, nil, nil
}

// acquire waits for the lock, until ctx is done or there is nothing to lead for.
func (e *Elector) acquire(
	ctx context.Context, attempted func(time.Duration, error), renewals chan<- renewal,
) (*redlock.Lease, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer e.endUnneeded(ctx, cancel)()
	return e.locker.Acquire(ctx, LockName(e.name), redlock.WithLeaseTTL(e.config.ttl),
		redlock.WithValueFunc(e.config.announce), redlock.WithYield(e.config.standby),
		redlock.WithBackoff(e.config.backoff.Min, e.config.backoff.Max), redlock.WithAttempts(attempted),
		redlock.WithAutoExtend(redlock.Extension{
			Every: e.config.every, Attempts: e.config.attempts,
			Told: func(attempts int, took time.Duration, err error) {
				select {
				case renewals <- renewal{attempts, took, err}:
				default: // a hook holds the loop up: then it hears of fewer
				}
			},
		}))
}
