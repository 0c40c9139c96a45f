package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

var guardCases = []Case{
	{Name: "A node that may have forgotten grants nothing for MaxTTL", Own: true, Run: forgot},
	{Name: "A new node grants nothing for MaxTTL", Own: true, Run: newNodes},
	{Name: "A lease lasts while the nodes are restarted in turn", Own: true, Run: rollingRestart},
}

// What the cases on guards use: short, as they wait for its end.
const (
	guardTTL     = 3 * time.Second
	guardTimeout = 900 * time.Millisecond
)

func (w *World) guarded(t *testing.T) *Process {
	t.Helper()
	return w.Process(t, redlock.WithTTL(guardTTL), redlock.WithNodeTimeout(guardTimeout))
}

// C9: every lock before this one has two holders. The lease is on nodes 0 and 1; node 1 forgets it,
// and the rival does not reach node 0.
func forgot(t *testing.T, w *World) {
	for _, way := range []struct {
		name   string
		forget func()
	}{
		{"restarted", func() { w.Restart(1) }},
		{"restarted-empty", func() { w.RestartEmpty(1) }},
		{"restarted-from-older-data", func() { w.RestartFromBackup(1) }},
		{"flushed", func() {
			if err := w.Raw(1).FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		w := w.under(w.Prefix + "-" + way.name)
		w.age(t, guardTTL)
		w.Backup(1)
		p, rival := w.guarded(t), w.guarded(t)
		p.warm(t)
		rival.warm(t)
		p.Cut(2)
		rival.Cut(0)
		lease := p.take(t, "x")

		way.forget()
		asked := time.Now()
		_, err := rival.TryAcquire(t.Context(), "x")
		if err == nil {
			t.Fatalf("%s: two have it", way.name)
		}
		wantText(t, err, "new, restarted, flushed or promoted: it grants nothing for another ")
		next := rival.take(t, "x")
		won := time.Now()
		if lease.Valid() || won.Before(lease.Deadline()) {
			t.Errorf("%s: the next began %v before the deadline of the first",
				way.name, lease.Deadline().Sub(won))
		}
		if waited := won.Sub(asked); waited < guardTTL {
			t.Errorf("%s: granted after %v, want at least %v", way.name, waited, guardTTL)
		}
		if next.Token() <= lease.Token() {
			t.Errorf("%s: token %d after %d", way.name, next.Token(), lease.Token())
		}
	}
}

func newNodes(t *testing.T, w *World) {
	p := w.under(w.Prefix + "-new").guarded(t)
	began := time.Now()
	_, err := p.TryAcquire(t.Context(), "x")
	wantErr(t, err, redlock.ErrGuarded)
	wantText(t, err, "new, restarted, flushed or promoted: it grants nothing for another ")
	w.Takes(t, "the first lock", guardTTL+rivalPause, func() { p.take(t, "x") })
	if waited := time.Since(began); waited < guardTTL {
		t.Errorf("granted after %v", waited)
	}
	free := 0
	nodes := p.Locker.Nodes(t.Context())
	for i, node := range nodes {
		if node.Guard > guardTimeout || node.Err != nil { // a node may have been asked first so much later
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

// redlock-universal "rolling restart". Each node is back in the lease before the next one is restarted.
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
			node := p.Locker.Nodes(t.Context())[i]
			return node.Err == nil && node.Guard == 0 && w.holder(t, "x", i) == value
		})
		if !lease.Valid() {
			t.Fatal("the lease is over")
		}
	}
	release(t, lease)
}
