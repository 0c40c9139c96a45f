package conformance

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

var endCases = []Case{
	{Name: "An expired lease can be neither extended nor released", Run: ranOut, Server: clocks},
	{Name: "An expired lease takes nothing from the next holder", Run: ranOutAndTaken, Server: clocks},
	{Name: "A lease is released once, however often Release is called", Run: releasedOnce},
	{Name: "A release removes only its own lock", Run: releasedForeign},
	{Name: "An abandoned lease lasts until its deadline and is not extended", Run: abandoned, Server: clocks},
}

const short = 300 * time.Millisecond // the TTL of a lease that should run out

// redsync TestMutexExtendExpired, TestMutexUnlockExpired; redislock TestLock_Refresh_expired and
// _Release_expired; ShedLock shouldTimeout, unlockingAfterExpirationShouldBeNoOp.
func ranOut(t *testing.T, w *World) {
	p := w.Process(t)
	lease := p.take(t, "x", redlock.WithLeaseTTL(short))
	ctx := lease.Context()
	w.Await(t, "end of the lease", short, func() bool { return !lease.Valid() })
	want.Err(t, lease.Extend(t.Context()), redlock.ErrExpired)
	w.Await(t, "end of its context", short, func() bool { return ctx.Err() != nil })
	want.Err(t, context.Cause(ctx), redlock.ErrExpired)
	w.left(t, 0, "x")
	want.Err(t, lease.Release(t.Context()), redlock.ErrExpired)
	want.Err(t, lease.Release(t.Context()), redlock.ErrExpired)

	// Requesting the context only now does not start it either.
	lease = p.take(t, "x", redlock.WithLeaseTTL(short))
	w.Await(t, "end of the lease", short, func() bool { return !lease.Valid() })
	want.Err(t, context.Cause(lease.Context()), redlock.ErrExpired)
	w.left(t, 0, "x")
	release(t, p.take(t, "x"))
}

// ShedLock shouldNotBeAbleToExtendExpiredLock; redislock TestLock_Release_not_own.
func ranOutAndTaken(t *testing.T, w *World) {
	p, rival := w.Process(t), w.Process(t)
	old := p.take(t, "x", redlock.WithLeaseTTL(short))
	w.left(t, 0, "x")
	lease := w.takeAll(t, rival, "x")
	want.Err(t, old.Extend(t.Context()), redlock.ErrExpired)
	want.Err(t, old.Release(t.Context()), redlock.ErrExpired)
	if err := lease.Extend(t.Context()); err != nil || w.on(t, "x") != w.Size() {
		t.Errorf("the new holder's lock is on %d nodes: %v", w.on(t, "x"), err)
	}
}

// redislock TestLock_Release_not_held; rueidislock TestLocker_CancelContext.
func releasedOnce(t *testing.T, w *World) {
	p := w.Process(t)
	lease := w.takeAll(t, p, "x")
	ended, end := context.WithCancel(t.Context())
	end()
	var releases sync.WaitGroup
	for range 10 {
		releases.Go(func() {
			if err := lease.Release(ended); err != nil { // a context that is done does not prevent a release
				t.Error(err)
			}
		})
	}
	releases.Wait()
	w.left(t, 0, "x")
	want.Err(t, context.Cause(lease.Context()), redlock.ErrReleased)
	want.Err(t, lease.Extend(t.Context()), redlock.ErrReleased)
	lease.Abandon()
	if err := lease.Release(t.Context()); err != nil || lease.Valid() {
		t.Errorf("once more: %v, valid %v", err, lease.Valid())
	}
	release(t, p.take(t, "x"))
}

// redislock TestLock_Release_not_own, with values that resemble ours: C12.
func releasedForeign(t *testing.T, w *World) {
	p := w.Process(t)
	lease := w.takeAll(t, p, "x", redlock.WithValue("worker-1"))
	mine := w.holder(t, "x", 0)
	for i := range w.Size() {
		w.put(t, "x", []string{mine + "0", mine[:len(mine)-1], records.SomebodyElse}[i%3], TTL, i)
	}
	release(t, lease) // valid until then, as far as its holder knows
	w.Lasts(t, "lock of others", settled, func() bool { return w.on(t, "x") == w.Size() })
}

// Redisson testLockIsNotRenewedAfterInterruptedTryLock; RedLock.net TestLockReleasedAfterTimeout.
func abandoned(t *testing.T, w *World) {
	const ttl = 3 * time.Second
	p, rival := w.Process(t), w.Process(t)
	lease := w.takeAll(t, p, "x", redlock.WithLeaseTTL(ttl),
		redlock.WithAutoExtend(redlock.Extension{Every: 1100 * time.Millisecond}))
	until := lease.Deadline()
	w.Await(t, "extension", ttl, func() bool { return lease.Deadline().After(until) })
	lease.Abandon()
	until = lease.Deadline()
	want.Err(t, context.Cause(lease.Context()), redlock.ErrReleased)

	var next *redlock.Lease
	w.Takes(t, "waiting for it", ttl+rivalPause, func() { next = rival.take(t, "x") })
	if won := time.Now(); won.Before(until) {
		t.Errorf("won %v before its deadline", until.Sub(won))
	}
	if !lease.Deadline().Equal(until) {
		t.Errorf("the deadline moved by %v", lease.Deadline().Sub(until))
	}
	release(t, next)
}
