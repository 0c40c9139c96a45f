package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

var lossCases = []Case{
	{Name: "An extension does not acquire a lost lock again", Sizes: []int{1, 3}, Run: neverAgain},
	{Name: "An extension does not change another holder's lock", Sizes: []int{1, 3}, Run: extendForeign},
	{Name: "A lease that a majority lost ends at the next extension, and no other lease does", Run: lostByMajority},
	{Name: "A lease that a minority lost is restored there", Sizes: []int{5}, Run: repaired},
	{Name: "A holder that is cut off stops before another can begin", Run: cutOff(Links.Cut), Server: network},
	{
		Name:  "A holder whose nodes hang stops before another can begin",
		Sizes: []int{5}, Run: cutOff(Links.Hang), Server: network,
	},
	{Name: "A holder whose replies are lost stops before another can begin", Run: cutOff(deaf)},
	{Name: "A failed extension is retried while the lease lasts", Run: shortOutage},
}

// every is the time between extensions of short leases. It is above the node timeout.
const every = 1100 * time.Millisecond

func extending(ttl time.Duration) []redlock.AcquireOption {
	return []redlock.AcquireOption{
		redlock.WithLeaseTTL(ttl), redlock.WithAutoExtend(redlock.Extension{Every: every}),
	}
}

// C8: redsync with WithSetNXOnExtend, and RedLock.net, report it as extended. redsync
// TestSetNXOnExtendAcquiresLockWhenKeyIsExpired, inverted.
func neverAgain(t *testing.T, w *World) {
	p, rival := w.Process(t), w.Process(t)
	lease := w.takeAll(t, p, "x")
	w.drop(t, "x", w.all()...)
	other := w.takeAll(t, rival, "x")
	release(t, other)
	w.left(t, 0, "x")
	want.Err(t, lease.Extend(t.Context()), redlock.ErrLost)
	want.Err(t, context.Cause(lease.Context()), redlock.ErrLost)
	want.Err(t, lease.Extend(t.Context()), redlock.ErrLost)
	w.Lasts(t, "lock that nobody has", settled, func() bool { return w.on(t, "x") == 0 && !lease.Valid() })
}

// redsync TestSetNXOnExtendFailsToAcquireLockWhenKeyIsTaken, corrected.
func extendForeign(t *testing.T, w *World) {
	p := w.Process(t)
	lease := w.takeAll(t, p, "x")
	w.put(t, "x", records.SomebodyElse, 0, w.majority()...)
	err := lease.Extend(t.Context())
	want.Err(t, err, redlock.ErrLost)
	want.Text(t, err, `held by "someone else" for another`)
	for _, i := range w.majority() {
		left := w.records().Left(t, "x", w.Raw(i))
		if got := w.holder(t, "x", i); got != records.SomebodyElse || left < records.ForGood {
			t.Errorf("node %d has %q for %v", i, got, left)
		}
	}
	want.Err(t, lease.Release(t.Context()), redlock.ErrLost)
	w.left(t, len(w.majority()), "x")
}

// rueidislock TestLocker_Flush, TestLocker_WithContext_UnlockByClientSideCaching: here the holder learns of the loss
// from its next extension. Leases that are due together are extended together.
func lostByMajority(t *testing.T, w *World) {
	p := w.Process(t)
	harm := map[string]func(name string){
		"gone":  func(name string) { w.drop(t, name, w.majority()...) },
		"taken": func(name string) { w.put(t, name, records.SomebodyElse, TTL, w.majority()...) },
		"both": func(name string) {
			w.drop(t, name, 0)
			w.put(t, name, records.SomebodyElse, TTL, w.majority()[1:]...)
		},
	}
	leases := make(map[string]*redlock.Lease)
	for _, name := range []string{"kept", "minority", "gone", "taken", "both"} {
		leases[name] = w.takeAll(t, p, name, extending(TTL)...)
	}
	w.drop(t, "minority", w.minority()...)
	for name, harm := range harm {
		harm(name)
	}
	for name, harm := range harm {
		work := leases[name].Context()
		w.Await(t, "end of the lease "+name, every+NodeTimeout, func() bool {
			if work.Err() == nil {
				harm(name) // an extension may have restored one node before the next one was harmed
			}
			return work.Err() != nil
		})
		want.Err(t, context.Cause(work), redlock.ErrLost)
		want.Err(t, leases[name].Extend(t.Context()), redlock.ErrLost)
	}
	w.Await(t, "repair", every+NodeTimeout, func() bool { return w.on(t, "minority") == w.Size() })
	for name, lease := range leases {
		if _, lost := harm[name]; lease.Valid() == lost {
			t.Errorf("lease %s: valid %v", name, lease.Valid())
		}
	}
}

// go-redsync issue 149: a node that was unreachable gets the lock again, and counts.
func repaired(t *testing.T, w *World) {
	p := w.Process(t)
	lease := w.takeAll(t, p, "x", extending(TTL)...)
	value := w.holder(t, "x", 2)
	for _, nodes := range [][]int{{0, 1}, {3, 4}} {
		w.drop(t, "x", nodes...)
		w.Await(t, "repair", every+NodeTimeout, func() bool { return w.on(t, "x") == w.Size() })
		if got := w.holder(t, "x", nodes[0]); got != value {
			t.Errorf("node %d has %q, want %q", nodes[0], got, value)
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
			t.Errorf("the next started %v before the deadline of the first", lease.Deadline().Sub(won))
		}
		w.Await(t, "end of the work's context", 0, func() bool { return work.Err() != nil })
		want.Err(t, context.Cause(work), redlock.ErrExpired)
		if next.Token() <= lease.Token() {
			t.Errorf("token %d after %d", next.Token(), lease.Token())
		}

		p.Heal()
		want.Err(t, lease.Release(t.Context()), redlock.ErrExpired)
		w.Lasts(t, "the next one's lock", settled, next.Valid)
		if err := next.Extend(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// redislock TestLock_Refresh_retry_transient_error.
func shortOutage(t *testing.T, w *World) {
	failed := make(chan struct{}, 1000)
	p := w.Process(t)
	p.OnNode(func(e redlock.NodeEvent) {
		if e.Kind == redlock.NodeFails {
			failed <- struct{}{}
		}
	})
	lease := w.takeAll(t, p, "x", extending(TTL)...)
	for range 2 {
		p.Cut(w.majority()...)
		select {
		case <-failed:
		case <-time.After(awaitLimit):
			t.Fatal("nobody noticed the outage")
		}
		until := lease.Deadline()
		p.Heal()
		w.Await(t, "extension", every+2*NodeTimeout, func() bool { return lease.Deadline().After(until) })
	}
	if lease.Context().Err() != nil {
		t.Error(context.Cause(lease.Context()))
	}
}
