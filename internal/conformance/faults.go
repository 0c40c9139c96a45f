package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

var faultCases = []Case{
	{Name: "A minority that hangs delays no call", Sizes: []int{3, 5}, Run: sparing(Links.Hang), Server: network},
	{Name: "A minority that is dead delays no call", Sizes: []int{3, 5}, Run: sparing(Links.Cut), Server: network},
	{Name: "A minority that is slow delays no call", Run: sparing(slow), Server: network},
	{
		Name:  "A majority that hangs ends each call at the node timeout",
		Sizes: []int{1, 3}, Run: missing(Links.Hang), Server: network,
	},
	{
		Name:  "A majority that is dead ends each call at the node timeout",
		Sizes: []int{1, 3}, Run: missing(Links.Cut), Server: network,
	},
	{
		Name:  "A majority that is slow ends each call at the node timeout",
		Sizes: []int{1, 3}, Run: missing(slow), Server: network,
	},
	{Name: "A waiter waits through an outage of all nodes", Run: outage, Server: network},
	{Name: "Grants that take longer than the lease are no lease", Run: slowerThanLease},
	{Name: "A grant whose reply was lost is counted once", Run: lostReply},
	{Name: "A hung node is sent few requests however many calls are made", Run: manyPastHung},
}

// slow makes nodes answer too late.
func slow(l Links, nodes ...int) { l.Delay(NodeTimeout, nodes...) }

// moment is the longest duration of a call that no fault delays: in memory, almost none.
const moment = 5 * time.Millisecond

// C1, C2: redsync needs up to 10 s for each of these calls. RedLock.net TestQuorum.
func sparing(fault func(l Links, nodes ...int)) func(*testing.T, *World) {
	return func(t *testing.T, w *World) {
		p := w.Process(t)
		release(t, w.takeAll(t, p, "list")) // before its first request a process asks all nodes for the list
		fault(p, w.minority()...)
		for i := range 5 {
			name := fmt.Sprint(i)
			var lease *redlock.Lease
			var err error
			w.Takes(t, "Acquire", moment, func() { lease, err = p.TryAcquire(t.Context(), name) })
			want.NoError(t, err)
			w.Takes(t, "Acquire of a held lock", moment, func() { _, err = p.TryAcquire(t.Context(), name) })
			want.Err(t, err, redlock.ErrHeld)
			w.Takes(t, "Extend", moment, func() { err = lease.Extend(t.Context()) })
			w.Takes(t, "Holder", moment, func() {
				_, holderErr := p.Holder(t.Context(), name)
				err = errors.Join(err, holderErr)
			})
			w.Takes(t, "the first report of OnHolder", moment, func() { p.watchOnce(name) })
			w.Takes(t, "Release", moment, func() { err = errors.Join(err, lease.Release(t.Context())) })
			if err != nil {
				t.Error(err)
			}
		}
		p.Heal()
		// When the nodes are back, the requests sent to them before have arrived.
		release(t, w.takeAll(t, p, "after"))
		w.left(t, 0, "0", "1", "2", "3", "4", "after")
	}
}

// watchOnce watches a held lock until its holder is reported.
func (p *Process) watchOnce(name string) {
	reported := make(chan struct{}, 1)
	defer inside.Of(p.Locker).OnHolder(name, func(inside.Holder) {
		select {
		case reported <- struct{}{}:
		default:
		}
	})()
	<-reported
}

// C1, C2 without a quorum; node-redlock "locks fail when redis is unreachable"; Pottery
// test_acquire_quorumisimpossible, test_extend_quorumisimpossible.
func missing(fault func(l Links, nodes ...int)) func(*testing.T, *World) {
	return func(t *testing.T, w *World) {
		p := w.Process(t)
		p.warm(t)
		lease := w.takeAll(t, p, "held")
		lost := w.takeAll(t, p, "lost")
		fault(p, w.majority()...)
		until := lease.Deadline()
		call := func(what string, fn func() error) {
			w.Takes(t, what, NodeTimeout, func() {
				err := fn()
				var q *redlock.QuorumError
				if !errors.As(err, &q) || !errors.Is(err, redlock.ErrNoQuorum) {
					t.Errorf("%s: got %v", what, err)
					return
				}
				if q.Need != len(w.majority()) || q.Got >= q.Need || len(q.Nodes) < q.Need-q.Got {
					t.Errorf("%s: need %d, got %d, and %d reasons", what, q.Need, q.Got, len(q.Nodes))
				}
			})
		}
		call("Acquire", func() error { _, err := p.TryAcquire(t.Context(), "x"); return err })
		call("Extend", func() error { return lease.Extend(t.Context()) })
		call("Holder", func() error { _, err := p.Holder(t.Context(), "x"); return err })
		call("Release", func() error { return lost.Release(t.Context()) })
		if !lease.Valid() || !lease.Deadline().Equal(until) {
			t.Errorf("an extension without a quorum changed the lease: valid %v", lease.Valid())
		}

		p.Heal()
		w.left(t, 0, "x", "lost")
		if err := lease.Extend(t.Context()); err != nil {
			t.Error(err)
		}
		release(t, lease)
	}
}

// redlock-universal network-partition, majority unavailable.
func outage(t *testing.T, w *World) {
	p := w.Process(t)
	p.Cut()
	won := make(chan *redlock.Lease, 1)
	ctx, cancel := context.WithTimeout(t.Context(), awaitLimit)
	defer cancel()
	go func() { // ends with one send, which is received below
		lease, err := p.Acquire(ctx, "x")
		if err != nil {
			t.Error(err)
		}
		won <- lease
	}()
	w.Lasts(t, "waiting", 4*NodeTimeout, func() bool { return len(won) == 0 && w.on(t, "x") == 0 })
	p.Heal()
	// A twentieth of the TTL is the longest pause between attempts.
	w.Takes(t, "waiting after the outage", TTL/20+NodeTimeout, func() {
		if lease := <-won; lease != nil {
			release(t, lease)
		}
	})
}

// Pottery test_acquire_fails_within_auto_release_time; redlock-universal "rejecting slow
// acquisitions".
func slowerThanLease(t *testing.T, w *World) {
	p := w.Process(t)
	p.warm(t)
	p.Delay(200 * time.Millisecond)
	_, err := p.TryAcquire(t.Context(), "x", redlock.WithLeaseTTL(300*time.Millisecond))
	if !errors.Is(err, redlock.ErrExpired) && (w.Busy == 0 || !errors.Is(err, redlock.ErrNoQuorum)) {
		t.Errorf("got %v", err)
	}
	w.left(t, 0, "x")
}

// C3: redsync reports "taken" because of the value that its own first attempt set.
func lostReply(t *testing.T, w *World) {
	const way = 20 * time.Millisecond
	p := w.Process(t)
	first := w.takeAll(t, p, "x")
	release(t, first)
	w.left(t, 0, "x")
	for _, nodes := range [][]int{w.minority(), w.majority(), w.all()} {
		p.Delay(way)
		p.faults().DropReplies(nodes...)
		healed := time.AfterFunc(3*way, func() { p.Heal() }) // the reply is lost by then; the reply to the retry is not
		lease, err := p.TryAcquire(t.Context(), "x")
		want.NoError(t, err)
		if lease.Token() != first.Token()+1 {
			t.Errorf("token %d after %d: the retry was counted as another grant",
				lease.Token(), first.Token())
		}
		healed.Stop()
		p.Heal()
		w.awaitOn(t, "x", w.Size())
		release(t, lease)
		w.left(t, 0, "x")
		first = lease
	}
}
