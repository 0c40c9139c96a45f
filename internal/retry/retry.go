// Package retry spaces and bounds attempts. All retries in this module use it, so no loop is hot and none is endless by
// accident.
package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff is the range of pauses between attempts.
type Backoff struct{ Min, Max time.Duration }

// After returns a random pause after the n-th failure in a row, n from 1. The pause is between Min and Min doubled with
// each failure, and never above Max.
func (b Backoff) After(n int) time.Duration { return b.Share(n, rand.Float64()) }

// Share returns the pause as [Backoff.After] does, with a share from 0 to 1 instead of a random one.
func (b Backoff) Share(n int, share float64) time.Duration {
	top := b.Min << min(n, 30)
	if top > b.Max || top <= 0 {
		top = b.Max
	}
	if top <= b.Min {
		return b.Min
	}
	return b.Min + time.Duration(share*float64(top-b.Min))
}

// Sleep waits for d and returns nil, or until ctx is done and returns its cause.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
