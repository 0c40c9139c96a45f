package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

var lossCases = []Case{
	{Name: "A lease that was lost is not acquired anew by an extension", Sizes: []int{1, 3}, Run: neverAnew},
	{Name: "An extension leaves another's lock as it is", Sizes: []int{1, 3}, Run: extendForeign},
	{Name: "A lease whose keys were deleted ends with the next extension", Run: keysDeleted},
	{Name: "A lease that a minority lost is set there again", Sizes: []int{5}, Run: repaired},
	{Name: "A holder that is cut off stops before another can begin", Run: cutOff(Links.Cut)},
	{Name: "A holder that hears nothing stops before another can begin", Sizes: []int{5}, Run: cutOff(Links.Hang)},
	{
		Name: "A holder whose replies are lost stops before another can begin", Run: cutOff(deaf),
		InMemoryOnly: "a proxy passes bytes in both directions or in none",
	},
	{Name: "An extension that failed is made up for inside the lease", Run: shortOutage},
}

// every is from one extension to the next where a lease is short. It is above the node timeout.
const every = 1100 * time.Millisecond

func extending(ttl time.Duration) []redlock.AcquireOption {
	return []redlock.AcquireOption{
		redlock.WithLeaseTTL(ttl), redlock.WithAutoExtend(redlock.Extension{Every: every}),
	}
}

// C8: redsync with WithSetNXOnExtend, and RedLock.net, take it for extended. redsync
// TestSetNXOnExtendAcquiresLockWhenKeyIsExpired, the other way round.
func neverAnew(t *testing.T, w *World) {
	p, rival := w.Process(t), w.Process(t)
	lease := w.takeAll(t, p, "x")
	w.drop(t, "x", w.all()...)
	other := w.takeAll(t, rival, "x")
	release(t, other)
	w.left(t, 0, "x")
	wantErr(t, lease.Extend(t.Context()), redlock.ErrLost)
	wantErr(t, context.Cause(lease.Context()), redlock.ErrLost)
	wantErr(t, lease.Extend(t.Context()), redlock.ErrLost)
	w.Lasts(t, "lock that nobody has", settled, func() bool { return w.on(t, "x") == 0 && !lease.Valid() })
}

// redsync TestSetNXOnExtendFailsToAcquireLockWhenKeyIsTaken, repaired.
func extendForeign(t *testing.T, w *World) {
	p := w.Process(t)
	lease := w.takeAll(t, p, "x")
	w.put(t, "x", another, 0, w.majority()...)
	err := lease.Extend(t.Context())
	wantErr(t, err, redlock.ErrLost)
	wantText(t, err, `held by "someone else" for good`)
	for _, i := range w.majority() {
		ttl := w.Raw(i).PTTL(t.Context(), w.lockKey("x")).Val()
		if got := w.holder(t, "x", i); got != another || ttl != -1 {
			t.Errorf("node %d has %q for %v", i, got, ttl)
		}
	}
	wantErr(t, lease.Release(t.Context()), redlock.ErrLost)
	w.left(t, len(w.majority()), "x")
}

// rueidislock TestLocker_Flush, TestLocker_WithContext_UnlockByClientSideCaching: here the holder is
// told by its next extension.
func keysDeleted(t *testing.T, w *World) {
	p := w.Process(t)
	lease := w.takeAll(t, p, "x", extending(TTL)...)
	ctx := lease.Context()
	w.drop(t, "x", w.majority()...)
	w.Await(t, "end of the lease", every+NodeTimeout, func() bool { return ctx.Err() != nil })
	wantErr(t, context.Cause(ctx), redlock.ErrLost)
	if lease.Valid() {
		t.Error("it is valid")
	}
}

// go-redsync issue 149: a node that was away has the lock again.
func repaired(t *testing.T, w *World) {
	p := w.Process(t)
	lease := w.takeAll(t, p, "x", extending(TTL)...)
	for range 2 {
		value := w.holder(t, "x", w.Size()-1)
		w.drop(t, "x", w.minority()...)
		w.Await(t, "repair", every+NodeTimeout, func() bool { return w.on(t, "x") == w.Size() })
		if got := w.holder(t, "x", 0); got != value {
			t.Errorf("node 0 has %q, want %q", got, value)
		}
	}
	if !lease.Valid() {
		t.Error("it is over")
	}
	release(t, lease)
	w.left(t, 0, "x")
}

func deaf(l Links, nodes ...int) { l.(*Process).faults().DropReplies(nodes...) }

// C7: rueidislock has two holders for half of the TTL. redlock-universal network-partition.
func cutOff(fault func(l Links, nodes ...int)) func(*testing.T, *World) {
	return func(t *testing.T, w *World) {
		const ttl = 4 * time.Second
		p, rival := w.Process(t), w.Process(t)
		lease := w.takeAll(t, p, "x", extending(ttl)...)
		work := lease.Context()
		until := lease.Deadline()
		w.Await(t, "extension", ttl, func() bool { return lease.Deadline().After(until) })

		fault(p, w.majority()...)
		var next *redlock.Lease
		w.Takes(t, "waiting for the lock", 2*ttl, func() { next = rival.take(t, "x") })
		won := time.Now()
		if lease.Valid() || won.Before(lease.Deadline()) {
			t.Errorf("the next began %v before the deadline of the first", lease.Deadline().Sub(won))
		}
		w.Await(t, "end of the work's context", 0, func() bool { return work.Err() != nil })
		wantErr(t, context.Cause(work), redlock.ErrExpired)
		if next.Token() <= lease.Token() {
			t.Errorf("token %d after %d", next.Token(), lease.Token())
		}

		p.Heal()
		wantErr(t, lease.Release(t.Context()), redlock.ErrLost)
		w.Lasts(t, "the next one's lock", settled, next.Valid)
		if err := next.Extend(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// redislock TestLock_Refresh_retry_transient_error.
func shortOutage(t *testing.T, w *World) {
	failed := make(chan struct{}, 1000)
	p := w.Process(t, redlock.WithHooks(redlock.Hooks{NodeError: func(_, op string, _ error) {
		if op == "extend" {
			failed <- struct{}{}
		}
	}}))
	lease := w.takeAll(t, p, "x", extending(TTL)...)
	for range 2 {
		p.Cut(w.majority()...)
		<-failed
		until := lease.Deadline()
		p.Heal()
		w.Await(t, "extension", every+2*NodeTimeout, func() bool { return lease.Deadline().After(until) })
	}
	if lease.Context().Err() != nil {
		t.Error(context.Cause(lease.Context()))
	}
}
