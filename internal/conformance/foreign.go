package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

var foreignCases = []Case{
	{Name: "A foreign value in place of a record is left alone", Sizes: []int{1, 3}, Run: foreignRecord, Server: language},
	{Name: "A foreign value in place of the guard is left alone", Sizes: []int{1, 3}, Run: foreignGuard, Server: language},
	{Name: "A user's own key in place of the hash is left alone", Sizes: []int{1, 3}, Run: foreignHash, Server: language},
	{
		Name: "A foreign value in place of one record is no failure of its node, and delays neither other locks nor Close",
		Run:  foreignHarmsNothingElse,
	},
	{Name: "A foreign value in place of one record ends no other lease", Run: foreignEndsNoOther},
}

// replace puts a foreign value in a place on nodes. untouched reports whether it is still there, unchanged.
func (w *World) replace(t *testing.T, place records.Place, f records.Foreign, nodes []int) (untouched func() bool) {
	t.Helper()
	return records.Replace(t, place, f, w.raw(nodes)...)
}

// wantNoQuorum fails the test unless err has the errors of these nodes with this text, and says that no quorum is left.
func wantNoQuorum(t *testing.T, p *Process, err error, text string, nodes []int) {
	t.Helper()
	var q *redlock.QuorumError
	if !errors.As(err, &q) || !errors.Is(err, redlock.ErrNoQuorum) {
		t.Errorf("got %v, want no quorum", err)
		return
	}
	for _, i := range nodes {
		if !slices.ContainsFunc(q.Nodes, func(n redlock.NodeError) bool {
			return n.Addr == p.nodes[i] && contains(n.Err, text)
		}) {
			t.Errorf("got %v, want %q of node %d, %s", err, text, i, p.nodes[i])
		}
	}
}

// eachForeign runs a check with some foreign values, each on a minority, if there is one, and on a majority.
func (w *World) eachForeign(
	some []records.Foreign, check func(what string, f records.Foreign, nodes []int, enough bool),
) {
	for _, f := range some {
		for _, nodes := range [][]int{w.minority(), w.majority()} {
			if len(nodes) > 0 {
				check(fmt.Sprint(f.Name, " on ", len(nodes)), f, nodes, len(nodes) < len(w.majority()))
			}
		}
	}
}

func foreignRecord(t *testing.T, w *World) {
	p := w.Process(t)
	p.warm(t)
	w.eachForeign(records.Records, func(what string, f records.Foreign, nodes []int, enough bool) {
		// Before the lock is taken.
		untouched := w.replace(t, w.records().Record(what), f, nodes)
		lease, err := p.TryAcquire(t.Context(), what)
		if enough {
			w.works(t, p, lease, err)
		} else {
			wantNoQuorum(t, p, err, f.Reason, nodes)
			_, err = p.Holder(t.Context(), what)
			wantNoQuorum(t, p, err, f.Reason, nodes)
		}
		if !untouched() {
			t.Errorf("%s: it was changed", what)
		}

		// While it is held.
		what += " while held"
		lease = w.takeAll(t, p, what)
		untouched = w.replace(t, w.records().Record(what), f, nodes)
		if enough {
			w.works(t, p, lease, nil)
		} else {
			wantNoQuorum(t, p, lease.Extend(t.Context()), f.Reason, nodes)
			wantNoQuorum(t, p, lease.Release(t.Context()), f.Reason, nodes)
		}
		if !untouched() {
			t.Errorf("%s: it was changed", what)
		}
	})
}

// works fails the test unless the lease was won, can be extended and released.
func (w *World) works(t *testing.T, p *Process, lease *redlock.Lease, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
		return
	}
	holder, holderErr := p.Holder(t.Context(), lease.Name())
	if err := errors.Join(lease.Extend(t.Context()), holderErr); err != nil || holder.Token != lease.Token() {
		t.Errorf("%v; holder %+v", err, holder)
	}
	release(t, lease)
}

// heldApart returns a world of the same nodes with its own prefix, and a process that holds "held" there, on all of
// them.
func (w *World) heldApart(t *testing.T, apart string) (*World, *Process, *redlock.Lease) {
	t.Helper()
	w = w.under(w.Prefix + "-" + apart)
	w.age(t, TTL)
	p := w.Process(t)
	p.warm(t)
	return w, p, w.takeAll(t, p, "held")
}

func foreignGuard(t *testing.T, w *World) {
	w.eachForeign(records.Guards, func(what string, f records.Foreign, nodes []int, enough bool) {
		w, p, lease := w.heldApart(t, fmt.Sprintf("%s-%d", f.Name, len(nodes)))
		untouched := w.replace(t, w.records().Guard(), f, nodes)
		next, err := p.TryAcquire(t.Context(), "x")
		if enough {
			w.works(t, p, next, err)
		} else {
			wantNoQuorum(t, p, err, f.Reason, nodes)
		}
		w.works(t, p, lease, nil) // a guard matters only for grants
		w.left(t, 0, "held", "x")
		if !untouched() {
			t.Errorf("%s: it was changed", what)
		}
		if s := w.Process(t).Locker.Nodes(t.Context())[nodes[0]]; !contains(s.Err, f.Reason) {
			t.Errorf("%s: Nodes says %v", what, s.Err)
		}
	})
}

func foreignHash(t *testing.T, w *World) {
	w.eachForeign(records.Types, func(what string, f records.Foreign, nodes []int, enough bool) {
		w, p, lease := w.heldApart(t, fmt.Sprintf("%s-%d", f.Name, len(nodes)))
		untouched := w.replace(t, w.records().Whole(), f, nodes)
		t.Cleanup(func() { // before the process is closed, which would wait to remove its records
			for _, server := range w.raw(nodes) {
				server.Del(context.Background(), w.records().Hash())
			}
		})
		if enough {
			w.works(t, p, lease, nil)
			next, err := p.TryAcquire(t.Context(), "x")
			w.works(t, p, next, err)
		} else {
			wantNoQuorum(t, p, lease.Extend(t.Context()), f.Reason, nodes)
			wantNoQuorum(t, p, lease.Release(t.Context()), f.Reason, nodes)
			_, err := p.TryAcquire(t.Context(), "x")
			wantNoQuorum(t, p, err, f.Reason, nodes)
		}
		if !untouched() {
			t.Errorf("%s: it was changed", what)
		}
	})
}

// Leases that are due together are extended together, so the problem of one must not affect the others.
func foreignEndsNoOther(t *testing.T, w *World) {
	const ttl = 4 * time.Second
	p := w.Process(t)
	opts := []redlock.AcquireOption{
		redlock.WithLeaseTTL(ttl), redlock.WithAutoExtend(redlock.Extension{Every: every, Attempts: 1}),
	}
	sick, well := p.take(t, "sick", opts...), p.take(t, "well", opts...)
	w.awaitOn(t, "sick", w.Size())
	w.awaitOn(t, "well", w.Size())
	untouched := w.replace(t, w.records().Record("sick"), records.Records[0], w.all())
	w.Lasts(t, "lease of another name than the one that was replaced", 2*ttl, well.Valid)
	if sick.Valid() || !untouched() {
		t.Errorf("the lease that was replaced is valid: %v, the record untouched: %v", sick.Valid(), untouched())
	}
	release(t, well)
}

// The caller gets the reason in its error. An event is only for problems of a node.
func foreignHarmsNothingElse(t *testing.T, w *World) {
	failed := make(chan error, 1000)
	p := w.Process(t)
	p.OnNode(func(e redlock.NodeEvent) {
		if e.Err != nil {
			failed <- e.Err
		}
	})
	w.replace(t, w.records().Record("sick"), records.Records[0], w.all())
	const batches = 3 // with pauses: a node that fails is reported after a second
	for range batches {
		for range 200 { // more than one batch for a node
			_, err := p.TryAcquire(t.Context(), "sick")
			want.Err(t, err, redlock.ErrNoQuorum)
		}
		time.Sleep(time.Second)
	}
	well := w.takeAll(t, p, "well")
	if len(failed) > 0 {
		t.Errorf("%d problems were reported, first %v", len(failed), <-failed)
	}

	p.Cut(w.minority()...)
	release(t, well)
	w.Lasts(t, "lock where it cannot be released", 2*NodeTimeout, func() bool { return w.on(t, "well") > 0 })
	p.Heal()
	w.left(t, 0, "well")
	w.Takes(t, "Close", settled, func() {
		ctx, cancel := context.WithTimeout(t.Context(), awaitLimit)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}
