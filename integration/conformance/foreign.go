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
	{Name: "A user's own key in place of a lock is left alone", Sizes: []int{1, 3}, Run: foreignLock},
	{Name: "A user's own key in place of a fence is left alone", Sizes: []int{1, 3}, Run: foreignFence},
	{Name: "A user's own key in place of the guard is left alone", Sizes: []int{1, 3}, Run: foreignGuard},
	{Name: "A user's own key in place of one lock delays the removal of no other", Run: foreignDelaysNoOther},
	{Name: "A user's own key in place of one lock does not delay Close", Run: foreignDelaysNoClose},
	{Name: "A user's own key in place of one lock ends no other lease", Run: foreignEndsNoOther(records.Prefix.Lock)},
	{Name: "A user's own key in place of one fence ends no other lease", Run: foreignEndsNoOther(records.Prefix.Fence)},
}

// replace puts something foreign at a key on nodes. The returned func reports whether it is still there, untouched.
func (w *World) replace(t *testing.T, key string, f records.Foreign, nodes []int) (untouched func() bool) {
	t.Helper()
	return records.Replace(t, key, f, w.raw(nodes)...)
}

// wantNoQuorum fails the test unless err has these nodes' errors with this text, and says that they are too many.
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

// eachForeign runs a check with each of some foreign values on a minority, if there is one, and on a majority.
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

func foreignLock(t *testing.T, w *World) {
	p := w.Process(t)
	p.warm(t)
	w.eachForeign(records.Foreigns, func(what string, f records.Foreign, nodes []int, enough bool) {
		// Before the lock is taken.
		untouched := w.replace(t, w.records().Lock(what), f, nodes)
		lease, err := p.TryAcquire(t.Context(), what)
		if enough {
			w.works(t, p, lease, err)
		} else {
			wantNoQuorum(t, p, err, f.Reason, nodes)
			_, err = p.Holder(t.Context(), what)
			wantNoQuorum(t, p, err, f.Reason, nodes)
		}
		w.left(t, len(nodes), what)
		if !untouched() {
			t.Errorf("%s: it was changed", what)
		}
		w.drop(t, what, nodes...)

		// While it is held.
		what += " while held"
		lease = w.takeAll(t, p, what)
		untouched = w.replace(t, w.records().Lock(what), f, nodes)
		if enough {
			w.works(t, p, lease, nil)
		} else {
			wantNoQuorum(t, p, lease.Extend(t.Context()), f.Reason, nodes)
			wantNoQuorum(t, p, lease.Release(t.Context()), f.Reason, nodes)
		}
		w.left(t, len(nodes), what)
		if !untouched() {
			t.Errorf("%s: it was changed", what)
		}
		w.drop(t, what, nodes...)
	})
}

// works fails the test unless a lease that could be won does all that a lease does.
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

func foreignFence(t *testing.T, w *World) {
	p := w.Process(t)
	p.warm(t)
	w.eachForeign(records.Foreigns, func(what string, f records.Foreign, nodes []int, enough bool) {
		untouched := w.replace(t, w.records().Fence(what), f, nodes)
		lease, err := p.TryAcquire(t.Context(), what)
		if enough {
			w.works(t, p, lease, err)
		} else {
			wantNoQuorum(t, p, err, f.Reason, nodes)
		}
		w.left(t, 0, what)
		if !untouched() {
			t.Errorf("%s: it was changed", what)
		}

		what += " while held"
		lease = w.takeAll(t, p, what)
		untouched = w.replace(t, w.records().Fence(what), f, nodes)
		if enough {
			w.works(t, p, lease, nil)
		} else {
			wantNoQuorum(t, p, lease.Extend(t.Context()), f.Reason, nodes)
			release(t, lease)
		}
		w.left(t, 0, what)
		if !untouched() {
			t.Errorf("%s: it was changed", what)
		}
	})
}

func foreignGuard(t *testing.T, w *World) {
	w.eachForeign([]records.Foreign{records.List, records.Word}, func(what string, f records.Foreign, nodes []int, enough bool) {
		w := w.under(fmt.Sprintf("%s-%s-%d", w.Prefix, f.Name, len(nodes)))
		w.age(t, TTL)
		p := w.Process(t)
		p.warm(t)
		lease := w.takeAll(t, p, "held")
		untouched := w.replace(t, w.records().Guard(), f, nodes)
		if enough {
			w.works(t, p, lease, nil)
			next, err := p.TryAcquire(t.Context(), "x")
			w.works(t, p, next, err)
		} else {
			wantNoQuorum(t, p, lease.Extend(t.Context()), "WRONGTYPE", nodes)
			release(t, lease)
			_, err := p.TryAcquire(t.Context(), "x")
			wantNoQuorum(t, p, err, "WRONGTYPE", nodes)
		}
		w.left(t, 0, "held", "x")
		if !untouched() {
			t.Errorf("%s: it was changed", what)
		}
	})
}

// Leases that are due together are extended together, so the trouble of one must not be the others'.
func foreignEndsNoOther(key func(p records.Prefix, name string) string) func(*testing.T, *World) {
	return func(t *testing.T, w *World) {
		const ttl = 4 * time.Second
		p := w.Process(t)
		opts := []redlock.AcquireOption{
			redlock.WithLeaseTTL(ttl), redlock.WithAutoExtend(redlock.Extension{Every: every, Attempts: 1}),
		}
		sick, well := p.take(t, "sick", opts...), p.take(t, "well", opts...)
		w.awaitOn(t, "sick", w.Size())
		w.awaitOn(t, "well", w.Size())
		untouched := w.replace(t, key(w.records(), "sick"), records.List, w.all())
		w.Lasts(t, "lease of another name than the one with a list", 2*ttl, well.Valid)
		if sick.Valid() || !untouched() {
			t.Errorf("the lease with a list is valid: %v, the list untouched: %v", sick.Valid(), untouched())
		}
		release(t, well)
	}
}

func foreignDelaysNoOther(t *testing.T, w *World) {
	p := w.Process(t)
	w.replace(t, w.records().Lock("sick"), records.List, w.all())
	for range 200 { // more than go to a node at a time
		_, err := p.TryAcquire(t.Context(), "sick")
		want.Err(t, err, redlock.ErrNoQuorum)
	}

	well := w.takeAll(t, p, "well")
	p.Cut(w.minority()...)
	release(t, well)
	w.Lasts(t, "lock where it cannot be released", 2*NodeTimeout, func() bool { return w.on(t, "well") > 0 })
	p.Heal()
	w.left(t, 0, "well")
	w.drop(t, "sick", w.all()...)
}

func foreignDelaysNoClose(t *testing.T, w *World) {
	p := w.Process(t)
	w.replace(t, w.records().Lock("x"), records.List, w.all())
	_, err := p.TryAcquire(t.Context(), "x")
	want.Err(t, err, redlock.ErrNoQuorum)
	w.Takes(t, "Close", settled, func() {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}
