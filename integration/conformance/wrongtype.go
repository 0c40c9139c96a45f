package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

var keyCases = []Case{
	{Name: "A user's own key in place of a lock is left alone", Sizes: []int{1, 3}, Run: wrongLock},
	{Name: "A user's own key in place of a fence is left alone", Sizes: []int{1, 3}, Run: wrongFence},
	{Name: "A user's own key in place of the guard is left alone", Sizes: []int{1, 3}, Run: wrongGuard},
	{Name: "A user's own key in place of one lock holds up the removal of no other", Run: heldUp},
	{Name: "A user's own key in place of one lock does not hold up Close", Run: closeHeldUp},
	{Name: "A user's own key in place of one lock ends no other lease", Run: poisoned((*World).lockKey)},
	{Name: "A user's own key in place of one fence ends no other lease", Run: poisoned((*World).fenceKey)},
}

// wrong are values that no version of this library writes, with the words of their refusal.
var wrong = []struct {
	name, text string
	put        func(w *World, ctx context.Context, i int, key string) error
}{
	{"list", "WRONGTYPE", func(w *World, ctx context.Context, i int, key string) error {
		return w.Raw(i).RPush(ctx, key, "a", "b").Err()
	}},
	{"set", "WRONGTYPE", func(w *World, ctx context.Context, i int, key string) error {
		return w.Raw(i).SAdd(ctx, key, "a", "b").Err()
	}},
	{"text", "", func(w *World, ctx context.Context, i int, key string) error {
		return w.Raw(i).Set(ctx, key, "mine", 0).Err()
	}},
	{"empty", "", func(w *World, ctx context.Context, i int, key string) error {
		return w.Raw(i).Set(ctx, key, "", 0).Err()
	}},
	{"later", "version", func(w *World, ctx context.Context, i int, key string) error {
		return w.Raw(i).Set(ctx, key, "2:17:x:y", 0).Err()
	}},
}

// replace puts a wrong value on nodes, and returns what tells whether it is still there.
func (w *World) replace(t *testing.T, key string, kind int, nodes []int) (untouched func() bool) {
	t.Helper()
	dumps := make([]string, w.Size())
	for _, i := range nodes {
		err := errors.Join(w.Raw(i).Del(t.Context(), key).Err(), wrong[kind].put(w, t.Context(), i, key))
		if err != nil {
			t.Fatal(err)
		}
		dumps[i] = w.look(t, key, i)
	}
	return func() bool {
		for _, i := range nodes {
			if w.look(t, key, i) != dumps[i] {
				return false
			}
		}
		return true
	}
}

// look is what node i has at a key, of whatever type.
func (w *World) look(t *testing.T, key string, i int) string {
	t.Helper()
	kind := w.Raw(i).Type(t.Context(), key).Val()
	ttl := w.Raw(i).PTTL(t.Context(), key).Val()
	var value any
	switch kind {
	case "string":
		value = w.Raw(i).Get(t.Context(), key).Val()
	case "list":
		value = w.Raw(i).LRange(t.Context(), key, 0, -1).Val()
	case "set":
		value = w.Raw(i).SCard(t.Context(), key).Val()
	}
	return fmt.Sprint(kind, value, ttl)
}

// wantNoQuorum wants these nodes' errors with this text, and that they were too many.
func wantNoQuorum(t *testing.T, p *Process, err error, text string, nodes []int) {
	t.Helper()
	var q *redlock.QuorumError
	if !errors.As(err, &q) || !errors.Is(err, redlock.ErrNoQuorum) {
		t.Errorf("got %v, want no quorum", err)
		return
	}
	for _, i := range nodes {
		told := false
		for _, n := range q.Nodes {
			var one redlock.NodeError
			told = told || n.Addr == p.nodes[i] && errors.As(n, &one) && contains(n.Err, text)
		}
		if !told {
			t.Errorf("got %v, want %q of node %d, %s", err, text, i, p.nodes[i])
		}
	}
}

// eachWrong runs a check with each wrong value on a minority, if there is one, and on a majority.
func (w *World) eachWrong(t *testing.T, check func(what string, kind int, nodes []int, enough bool)) {
	for kind := range wrong {
		for _, nodes := range [][]int{w.minority(), w.majority()} {
			if len(nodes) > 0 {
				check(fmt.Sprint(wrong[kind].name, " on ", len(nodes)), kind, nodes, len(nodes) < len(w.majority()))
			}
		}
	}
}

func wrongLock(t *testing.T, w *World) {
	p := w.Process(t)
	p.warm(t)
	w.eachWrong(t, func(what string, kind int, nodes []int, enough bool) {
		// Before the lock is taken.
		untouched := w.replace(t, w.lockKey(what), kind, nodes)
		lease, err := p.TryAcquire(t.Context(), what)
		if enough {
			w.works(t, p, lease, err)
		} else {
			wantNoQuorum(t, p, err, wrong[kind].text, nodes)
			_, err = p.Holder(t.Context(), what)
			wantNoQuorum(t, p, err, wrong[kind].text, nodes)
		}
		w.left(t, len(nodes), what)
		if !untouched() {
			t.Errorf("%s: it was changed", what)
		}
		w.drop(t, what, nodes...)

		// While it is held.
		what += " while held"
		lease = w.takeAll(t, p, what)
		untouched = w.replace(t, w.lockKey(what), kind, nodes)
		if enough {
			w.works(t, p, lease, nil)
		} else {
			wantNoQuorum(t, p, lease.Extend(t.Context()), wrong[kind].text, nodes)
			wantNoQuorum(t, p, lease.Release(t.Context()), wrong[kind].text, nodes)
		}
		w.left(t, len(nodes), what)
		if !untouched() {
			t.Errorf("%s: it was changed", what)
		}
		w.drop(t, what, nodes...)
	})
}

// works wants that a lease, if it could be won, does all that a lease does.
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

func wrongFence(t *testing.T, w *World) {
	p := w.Process(t)
	p.warm(t)
	w.eachWrong(t, func(what string, kind int, nodes []int, enough bool) {
		untouched := w.replace(t, w.fenceKey(what), kind, nodes)
		lease, err := p.TryAcquire(t.Context(), what)
		if enough {
			w.works(t, p, lease, err)
		} else {
			wantNoQuorum(t, p, err, wrong[kind].text, nodes)
		}
		w.left(t, 0, what)
		if !untouched() {
			t.Errorf("%s: it was changed", what)
		}

		what += " while held"
		lease = w.takeAll(t, p, what)
		untouched = w.replace(t, w.fenceKey(what), kind, nodes)
		if enough {
			w.works(t, p, lease, nil)
		} else {
			wantNoQuorum(t, p, lease.Extend(t.Context()), wrong[kind].text, nodes)
			release(t, lease)
		}
		w.left(t, 0, what)
		if !untouched() {
			t.Errorf("%s: it was changed", what)
		}
	})
}

func wrongGuard(t *testing.T, w *World) {
	w.eachWrong(t, func(what string, kind int, nodes []int, enough bool) {
		w := w.under(fmt.Sprintf("%s-%s-%d", w.Prefix, wrong[kind].name, len(nodes)))
		w.age(t, TTL)
		p := w.Process(t)
		p.warm(t)
		lease := w.takeAll(t, p, "held")
		untouched := w.replace(t, w.guardKey(), kind, nodes)
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

// Leases that are due together travel together, so what one of them meets must not be the others'.
func poisoned(key func(w *World, name string) string) func(*testing.T, *World) {
	return func(t *testing.T, w *World) {
		const ttl = 4 * time.Second
		p := w.Process(t)
		opts := []redlock.AcquireOption{
			redlock.WithLeaseTTL(ttl), redlock.WithAutoExtend(redlock.Extension{Every: every, Attempts: 1}),
		}
		sick, well := p.take(t, "sick", opts...), p.take(t, "well", opts...)
		w.awaitOn(t, "sick", w.Size())
		w.awaitOn(t, "well", w.Size())
		untouched := w.replace(t, key(w, "sick"), 0, w.all())
		w.Lasts(t, "lease of another name than the one with a list", 2*ttl, well.Valid)
		if sick.Valid() || !untouched() {
			t.Errorf("the lease with a list is valid: %v, the list untouched: %v", sick.Valid(), untouched())
		}
		release(t, well)
	}
}

func heldUp(t *testing.T, w *World) {
	p := w.Process(t)
	w.replace(t, w.lockKey("sick"), 0, w.all())
	for range 200 { // more than go to a node at a time
		_, err := p.TryAcquire(t.Context(), "sick")
		wantErr(t, err, redlock.ErrNoQuorum)
	}

	well := w.takeAll(t, p, "well")
	p.Cut(w.minority()...)
	release(t, well)
	w.Lasts(t, "lock where it cannot be released", 2*NodeTimeout, func() bool { return w.on(t, "well") > 0 })
	p.Heal()
	w.left(t, 0, "well")
	w.drop(t, "sick", w.all()...)
}

func closeHeldUp(t *testing.T, w *World) {
	p := w.Process(t)
	w.replace(t, w.lockKey("x"), 0, w.all())
	_, err := p.TryAcquire(t.Context(), "x")
	wantErr(t, err, redlock.ErrNoQuorum)
	w.Takes(t, "Close", settled, func() {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := p.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}
