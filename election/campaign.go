package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/retry"
	"github.com/redlockfx/redlockfx/redlock"
)

// renewal is the result of one renewal of the lease.
type renewal struct {
	attempts int
	took     time.Duration
	err      error
}

// campaign returns a lease with enough time left to lead, and a channel with the results of its renewals. The lease is nil if Run
// must stop, or if this process can never lead again; then there is an error.
func (e *Elector) campaign(r *run) (*redlock.Lease, <-chan renewal, error) {
	var view outlook
	defer e.nodes.Store(nil)
	defer e.list.Store(nil)
	attempted := func(took time.Duration, err error) {
		e.seeNodes(err)
		e.callApp(func() {
			if err != nil && r.stopping.Err() == nil {
				e.logAttempt(&view, err)
			}
			for _, h := range e.config.hooks {
				h.Attempt(took, err)
			}
		})
	}
	for failures := 1; r.stopping.Err() == nil; failures++ {
		renewals := make(chan renewal, 8)
		lease, err := e.acquire(r.stopping, attempted, renewals)
		switch {
		case err == nil && r.stopping.Err() == nil && time.Until(lease.Deadline()) > e.config.enough():
			return lease, renewals, nil
		case err == nil: // too late to start a term: Run must stop, or a pause after the request has used up the lease
			_ = lease.Release(r.stopping) // if that fails it expires
		case errors.Is(err, redlock.ErrClosed):
			return nil, nil, fmt.Errorf("election: %q cannot lead any more: %w", e.name, err)
		case r.stopping.Err() == nil: // Acquire has given up, because the nodes refuse it
			e.callApp(func() { view.say(e.log.Error, "the nodes refuse this replica, retrying", "", zap.Error(err)) })
			view.since = time.Time{}
		}
		_ = retry.Sleep(r.stopping, e.config.backoff().After(failures)) // the loop checks stopping itself
	}
	return nil, nil, nil
}

// acquire waits for the lock until ctx is done.
func (e *Elector) acquire(
	ctx context.Context, attempted func(time.Duration, error), renewals chan<- renewal,
) (*redlock.Lease, error) {
	return e.locker.Acquire(ctx, e.lock, redlock.WithLeaseTTL(e.config.TTL),
		inside.Campaigning(inside.Campaign{
			Value: e.config.announce, HeadStart: e.config.Standby, Backoff: e.config.backoff(), Attempted: attempted,
		}).(redlock.AcquireOption),
		redlock.WithAutoExtend(redlock.Extension{
			Every: e.config.RenewEvery,
			Extended: func(attempts int, took time.Duration, err error) {
				select {
				case renewals <- renewal{attempts, took, err}:
				default: // a hook holds up the loop, which misses this result
				}
			},
		}))
}
