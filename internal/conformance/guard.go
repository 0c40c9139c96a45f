package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/accept"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

var guardCases = []Case{
	{
		Name:  "A node that may have lost its locks grants nothing for MaxTTL, and the others do",
		Sizes: []int{1, 3}, Own: true, Run: mayHaveForgotten, Server: restarts,
	},
	{
		Name: "A new node grants nothing for MaxTTL, unless the guard is off",
		Own:  true, Run: newNodes, Server: restarts,
	},
	{
		Name: "A majority that may have lost its locks grants nothing for MaxTTL",
		Own:  true, Run: majorityMayHaveForgotten, Server: restarts,
	},
	{
		Name: "Restarted nodes extend and release the locks that they kept",
		Own:  true, Run: keptLocks, Server: restarts,
	},
	{
		Name: "A lease survives a restart of each node in turn",
		Own:  true, Run: rollingRestart, Server: restarts,
	},
}

// Settings of the guard cases: short, because the cases wait for the end of a guard.
const (
	guardTTL     = 3 * time.Second
	guardTimeout = 900 * time.Millisecond
)

func (w *World) guarded(t *testing.T) *Process {
	t.Helper()
	return w.Process(t, redlock.WithTTL(guardTTL), redlock.WithNodeTimeout(guardTimeout))
}

// C9: the existing locks have two holders here. The two processes have one node in common, and that node loses the
// lease.
func mayHaveForgotten(t *testing.T, w *World) {
	common := w.Size() / 2
	const guarded = "new, restarted, flushed or promoted: it grants nothing for another "
	for _, way := range []struct {
		name    string
		forget  func()
		refuses string
	}{
		{"restarted", func() { w.Restart(common) }, "held by "},
		{"restarted-empty", func() { w.RestartEmpty(common) }, guarded},
		{"restarted-from-older-data", func() { w.RestartFromBackup(common) }, guarded},
		{"flushed", func() {
			want.NoError(t, w.Raw(common).FlushAll(t.Context()).Err())
		}, guarded},
	} {
		w := w.under(w.Prefix + "-" + way.name)
		w.age(t, guardTTL)
		p, rival := w.guarded(t), w.guarded(t)
		release(t, w.takeAll(t, p, "x"))
		w.left(t, 0, "x")
		w.Backup(common)
		rival.warm(t)
		if common > 0 {
			p.Cut(w.all()[common+1:]...)
			rival.Cut(w.all()[:common]...)
		}
		for range 3 { // the backup has lower numbers
			release(t, p.take(t, "x"))
		}
		lease := p.take(t, "x")

		mender := w.guarded(t)                   // it hears all nodes, and so has the lost one replaced in the list
		release(t, w.takeAll(t, mender, "list")) // all nodes have answered, so it has the list for good
		way.forget()
		lost := time.Now()
		if common > 0 {
			w.joined(t, mender)
		}
		_, err := rival.TryAcquire(t.Context(), "x")
		if err == nil {
			t.Fatalf("%s: two have it", way.name)
		}
		want.Text(t, err, way.refuses)
		other := w.guarded(t)
		for i, node := range other.Locker.Nodes(t.Context()) {
			over := node.Guard == 0 && time.Since(lost) > guardTTL // the machine was busy
			if (i == common) != (node.Guard > 0 || over) || node.Guard > guardTTL {
				t.Errorf("%s: node %d is guarded for %v", way.name, i, node.Guard)
			}
		}
		if w.Size() > 1 {
			if _, err := other.TryAcquire(t.Context(), "y"); err != nil {
				t.Errorf("%s: one guarded node costs a lock: %v", way.name, err)
			}
		}
		next := rival.take(t, "x")
		won := time.Now()
		if lease.Valid() || won.Before(lease.Deadline()) {
			t.Errorf("%s: the next started %v before the deadline of the first",
				way.name, lease.Deadline().Sub(won))
		}
		if waited := won.Sub(lost); waited < guardTTL {
			t.Errorf("%s: granted after %v, want at least %v", way.name, waited, guardTTL)
		}
		if next.Token() <= lease.Token() {
			t.Errorf("%s: token %d after %d", way.name, next.Token(), lease.Token())
		}
	}
}

// A majority loses its locks at the same time, and then all nodes do.
func majorityMayHaveForgotten(t *testing.T, w *World) {
	for name, nodes := range map[string][]int{"majority": w.majority(), "all": w.all()} {
		for way, forget := range map[string]func(i int){
			"restarted-empty": w.RestartEmpty,
			"flushed": func(i int) {
				want.NoError(t, w.Raw(i).FlushAll(t.Context()).Err())
			},
		} {
			w := w.under(w.Prefix + "-" + name + "-" + way)
			w.age(t, guardTTL)
			p, rival := w.guarded(t), w.guarded(t)
			rival.warm(t)
			lease := w.takeAll(t, p, "x")
			for _, i := range nodes {
				forget(i)
			}
			if _, err := rival.TryAcquire(t.Context(), "x"); err == nil {
				t.Fatalf("%s %s: two have it", name, way)
			}
			accept.IfNeeded(t, rival.Locker) // if each process has addresses of its own
			next := rival.take(t, "x")
			if won := time.Now(); won.Before(lease.Deadline()) {
				t.Errorf("%s %s: the next started %v before the deadline of the first", name, way, lease.Deadline().Sub(won))
			}
			release(t, next)
		}
	}
}

func newNodes(t *testing.T, w *World) {
	unguarded := w.under(w.Prefix+"-off").Process(t, redlock.WithoutRestartGuard())
	if _, err := unguarded.TryAcquire(t.Context(), "x"); err != nil {
		t.Error(err)
	}
	for _, node := range unguarded.Locker.Nodes(t.Context()) {
		if node.Guard != 0 || node.Err != nil {
			t.Errorf("without a guard: %+v", node)
		}
	}

	p := w.under(w.Prefix + "-new").guarded(t)
	began := time.Now()
	_, err := p.TryAcquire(t.Context(), "x")
	want.Err(t, err, redlock.ErrGuarded)
	want.Text(t, err, "new, restarted, flushed or promoted: it grants nothing for another ")
	w.Takes(t, "the first lock", guardTTL+rivalPause, func() { p.take(t, "x") })
	if waited := time.Since(began); waited < guardTTL {
		t.Errorf("granted after %v", waited)
	}
	free := 0
	nodes := p.Locker.Nodes(t.Context())
	for i, node := range nodes {
		if node.Guard > guardTimeout || node.Err != nil { // a node's first request may be that much later
			t.Errorf("node %d: %+v", i, node)
		}
		if node.Guard == 0 {
			free++
		}
	}
	if free < len(nodes)/2+1 {
		t.Errorf("granted with %d nodes without a guard", free)
	}
}

func keptLocks(t *testing.T, w *World) {
	p := w.Process(t)
	lease := w.takeAll(t, p, "x")
	for i := range w.Size() {
		w.Restart(i)
	}
	w.Await(t, "extension", awaitLimit, func() bool { return lease.Extend(t.Context()) == nil })
	_, err := p.TryAcquire(t.Context(), "y")
	want.Err(t, err, redlock.ErrGuarded)
	release(t, lease)
	w.left(t, 0, "x")
}

// redlock-universal "rolling restart". Each node is back in the lease before the next one restarts.
func rollingRestart(t *testing.T, w *World) {
	w = w.under(w.Prefix + "-rolling")
	w.age(t, guardTTL)
	p, rival := w.guarded(t), w.guarded(t)
	lease := w.takeAll(t, p, "x", redlock.WithAutoExtend(redlock.Extension{Every: guardTTL / 3}))
	value := w.holder(t, "x", 0)
	restarts := []func(int){w.Restart, w.RestartEmpty, w.RestartEmpty}
	for i := range w.Size() {
		restarts[i](i)
		w.Await(t, fmt.Sprintf("lock on node %d after its guard", i), 2*guardTTL, func() bool {
			if _, err := rival.TryAcquire(t.Context(), "x"); err == nil {
				t.Fatalf("two have it; the first until %v", lease.Deadline())
			}
			has := w.holder(t, "x", i) == value
			node := p.Locker.Nodes(t.Context())[i]
			if i > 0 && has && node.Guard > 0 { // node 0 has kept its data
				t.Fatalf("node %d was given the lock again %v before the end of its guard", i, node.Guard)
			}
			return node.Err == nil && node.Guard == 0 && has
		})
		if !lease.Valid() {
			t.Fatal("the lease is over")
		}
	}
	release(t, lease)
}
