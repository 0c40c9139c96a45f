// Package retry spaces and bounds attempts. Nothing in this module tries again without it, so no
// loop is hot and none is endless by accident.
package retry

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Backoff is the range of pauses between attempts.
type Backoff struct{ Min, Max time.Duration }

// After returns a random pause to follow the n-th failure in a row, n from 1: between Min and
// Min doubled with each failure, and never above Max.
func (b Backoff) After(n int) time.Duration {
	top := b.Min << min(n, 30)
	if top > b.Max || top <= 0 {
		top = b.Max
	}
	if top <= b.Min {
		return b.Min
	}
	return b.Min + rand.N(top-b.Min)
}

// Sleep waits for d, or until ctx is done and then returns its cause.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Within calls fn up to n times until it returns nil, with pauses between, and not after until.
// Each call's context ends with its share of the time left. It stops early when ctx is done, or
// when fn's error is one of final. It returns the number of calls and the last error.
func Within(
	ctx context.Context, until time.Time, n int, b Backoff, fn func(context.Context) error,
	final ...error,
) (calls int, err error) {
	for calls < n {
		share := time.Until(until) / time.Duration(n-calls)
		callCtx, cancel := context.WithTimeout(ctx, share)
		err = fn(callCtx)
		cancel()
		calls++
		if err == nil || calls == n || isAny(err, final) || !time.Now().Before(until) {
			break
		}
		if Sleep(ctx, min(b.After(calls), time.Until(until)/time.Duration(n-calls+1))) != nil {
			break
		}
	}
	return calls, err
}

func isAny(err error, targets []error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
