// Package fresh lets many callers share what one of them reads.
package fresh

import (
	"context"
	"sync"
	"time"
)

// Value is read by the first caller of Get while the others wait. Whoever calls Get within For after the read gets the
// same value. Value starts no goroutine. Read gets what was read last, and a context that does not end with the
// caller's, so Read must end by itself.
type Value[T any] struct {
	For  time.Duration
	Read func(ctx context.Context, last T) T

	mu      sync.Mutex // guards the fields below
	value   T
	until   time.Time     // while it is fresh
	reading chan struct{} // closed when the read under way is over; nil: there is none
	expired bool          // Expire was called since the last read began
}

// Get returns the value, and until when it is fresh. The error is the cause of ctx, if ctx ends first.
func (v *Value[T]) Get(ctx context.Context) (T, time.Time, error) {
	for {
		v.mu.Lock()
		value, until, reading := v.value, v.until, v.reading
		if reading == nil && time.Now().Before(until) && !v.expired {
			v.mu.Unlock()
			return value, until, nil
		}
		if reading == nil {
			v.reading, v.expired = make(chan struct{}), false
			v.mu.Unlock()
			value, until = v.read(context.WithoutCancel(ctx), value)
			return value, until, nil
		}
		v.mu.Unlock()
		select {
		case <-reading:
		case <-ctx.Done():
			return value, until, context.Cause(ctx)
		}
	}
}

// read lets the waiting callers go on even if Read panics: then one of them reads.
func (v *Value[T]) read(ctx context.Context, last T) (value T, until time.Time) {
	value = last
	defer func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.value, v.until = value, until
		close(v.reading)
		v.reading = nil
	}()
	value = v.Read(ctx, last)
	return value, time.Now().Add(v.For)
}

// Expire makes the next caller of Get read again, even if an earlier read is still under way.
func (v *Value[T]) Expire() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.expired = true
}
