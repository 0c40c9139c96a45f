package conformance

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

var waitingCases = []Case{
	{
		Name:  "A waiter acquires the lock as soon as it is released, and not before",
		Sizes: []int{1, 5}, Run: handedOver, Server: network,
	},
	{Name: "A waiter acquires the lock as soon as the lease of a dead holder has run out", Run: holderDied, Server: clocks},
	{Name: "A call whose context is done sends no request", Own: true, Run: doneContext},
	{Name: "A waiter ends with its context and names the holder", Run: waiterGivesUp},
	{Name: "A lease outlives the context of the call that won it", Run: contextOfCall},
	{Name: "Close ends waiting calls, refuses new ones and names the leases still held", Run: closed},
}

// rivalPause is the longest pause of a waiter after the end of a lease.
const rivalPause = 25 * time.Millisecond

// rueidislock TestLocker_WithContext_AutoExtend, TestLocker_WithContext_UnlockByClientSideCaching.
func handedOver(t *testing.T, w *World) {
	p, rival := w.Process(t), w.Process(t)
	rival.warm(t)
	for range 3 {
		lease := w.takeAll(t, p, "x")
		won := make(chan *redlock.Lease)
		ctx, cancel := context.WithTimeout(t.Context(), awaitLimit)
		go func() { // ends with one send, which is received below
			next, err := rival.Acquire(ctx, "x")
			if err != nil || next.Token() <= lease.Token() {
				t.Errorf("got %v, %v", next, err)
			}
			won <- next
		}()
		w.Lasts(t, "waiting", 2*NodeTimeout, func() bool {
			select {
			case <-won:
				return false
			default:
				return lease.Valid()
			}
		})
		release(t, lease)
		w.Takes(t, "the hand-over", moment, func() {
			if next := <-won; next != nil {
				release(t, next)
			}
		})
		cancel()
		w.left(t, 0, "x")
	}
}

// redislock TestObtain_retry_success; redlock-universal cross-process, abrupt termination; Redisson
// testWaitAndLeaseTimeouts.
func holderDied(t *testing.T, w *World) {
	const ttl = 2 * time.Second
	p, rival := w.Process(t), w.Process(t)
	lease := p.take(t, "x", redlock.WithLeaseTTL(ttl))
	p.Cut()
	w.Takes(t, "waiting", ttl+rivalPause, func() { rival.take(t, "x") })
	if won := time.Now(); lease.Valid() || won.Before(lease.Deadline()) {
		t.Errorf("won %v before the deadline of the first", lease.Deadline().Sub(won))
	}
}

// rueidislock TestLocker_WithContext_DeadContext.
func doneContext(t *testing.T, w *World) {
	p := w.Process(t)
	lease := w.takeAll(t, p, "y")
	p.warm(t)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	before := w.Requests(0)
	_, err := p.TryAcquire(ctx, "x")
	want.Err(t, err, cause)
	_, err = p.Acquire(ctx, "x")
	want.Err(t, err, cause)
	want.Err(t, p.Do(ctx, "x", func(context.Context, *redlock.Lease) error {
		t.Error("it ran")
		return nil
	}), cause)
	want.Err(t, lease.Extend(ctx), cause)
	if asked := w.Requests(0) - before; asked != 0 {
		t.Errorf("%d requests", asked)
	}
	if !lease.Valid() {
		t.Error("the lease is over")
	}
}

// redislock TestObtain_retry_failure and _context_deadline; rueidislock
// TestLocker_WithContext_CancelContext; RedLock.net TestCancelBlockingLock.
func waiterGivesUp(t *testing.T, w *World) {
	p, rival := w.Process(t), w.Process(t)
	lease := w.takeAll(t, p, "x", redlock.WithValue("pod-1"))
	rival.warm(t)
	enough := errors.New("enough")
	giveUp := func(wait time.Duration) (err error) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), wait, enough)
		defer cancel()
		w.Takes(t, "giving up", wait, func() { _, err = rival.Acquire(ctx, "x") })
		if !errors.Is(err, enough) {
			t.Errorf("got %v, want the cause of the context", err)
		}
		return err
	}
	_ = giveUp(0)
	first := make(chan error)
	go func() { first <- giveUp(2 * NodeTimeout) }() // received below
	time.Sleep(NodeTimeout / 2)
	err := giveUp(NodeTimeout / 2)
	want.Err(t, err, redlock.ErrHeld)
	want.Text(t, err, "queued behind other callers of this process")
	err = <-first
	want.Err(t, err, redlock.ErrHeld)
	want.Text(t, err, `held by "pod-1"`)
	if err := lease.Extend(t.Context()); err != nil {
		t.Error(err)
	}
	release(t, lease)
	w.left(t, 0, "x")
}

// rueidislock TestLocker_WithContext_ShorterTimeoutContext. There the lease ends with the call's context. Here, how
// long a call waits and how long a lock is held are independent.
func contextOfCall(t *testing.T, w *World) {
	p := w.Process(t)
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
	lease, err := p.Acquire(ctx, "x")
	want.NoError(t, err)
	cancel()
	if work := lease.Context(); !lease.Valid() || work.Err() != nil || work.Value(key{}) != "v" {
		t.Errorf("valid %v, its context: %v", lease.Valid(), work)
	}
	if err := lease.Extend(t.Context()); err != nil {
		t.Error(err)
	}
	release(t, lease)
}

// rueidislock TestLocker_Close, TestLocker_RetryErrLockerClosed, TestLocker_WithContext_Cleanup.
func closed(t *testing.T, w *World) {
	p, rival := w.Process(t), w.Process(t)
	lease := w.takeAll(t, p, "x")
	extended := w.takeAll(t, p, "extended", extending(TTL)...)
	waited := make(chan error)
	w.takeAll(t, rival, "y")
	go func() { // ends with one send, which is received below
		_, err := p.Acquire(t.Context(), "y")
		waited <- err
	}()
	w.Lasts(t, "waiting", NodeTimeout, func() bool {
		select {
		case err := <-waited:
			t.Errorf("it did not wait: %v", err)
			return false
		default:
			return true
		}
	})
	w.Takes(t, "Close", settled, func() {
		err := p.Close(t.Context())
		want.Text(t, err, "abandoned", `"x" until`, `"extended" until`)
	})
	if lease.Valid() || extended.Valid() || w.on(t, "x") != w.Size() {
		t.Errorf("valid: %v, %v; the lock is on %d nodes", lease.Valid(), extended.Valid(), w.on(t, "x"))
	}
	want.Err(t, <-waited, redlock.ErrClosed)
	want.Err(t, context.Cause(lease.Context()), redlock.ErrReleased)
	want.Err(t, lease.Extend(t.Context()), redlock.ErrReleased)
	want.Err(t, lease.Release(t.Context()), redlock.ErrReleased)
	_, err := p.TryAcquire(t.Context(), "z")
	want.Err(t, err, redlock.ErrClosed)
	_, err = p.Acquire(t.Context(), "z")
	want.Err(t, err, redlock.ErrClosed)
	_, err = p.Holder(t.Context(), "z")
	want.Err(t, err, redlock.ErrClosed)
	if err := p.Close(t.Context()); err != nil {
		t.Errorf("closed again: %v", err)
	}
	if _, err := rival.TryAcquire(t.Context(), "x"); !errors.Is(err, redlock.ErrHeld) {
		t.Errorf("what Close abandoned is free at once: %v", err)
	}
}
