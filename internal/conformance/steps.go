package conformance

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/redlock"
)

func (w *World) records() records.Prefix { return records.Prefix(w.Prefix) }

// raw returns clients of those nodes that bypass all faults of processes.
func (w *World) raw(nodes []int) []*redis.Client {
	var raw []*redis.Client
	for _, i := range nodes {
		raw = append(raw, w.Raw(i))
	}
	return raw
}

// holder returns the value that holds a lock on node i, or "".
func (w *World) holder(t *testing.T, name string, i int) string {
	t.Helper()
	return w.records().Holder(t, name, w.Raw(i))
}

// on counts the nodes that hold a lock.
func (w *World) on(t *testing.T, name string) int {
	t.Helper()
	return w.records().On(t, name, w.raw(w.all())...)
}

// put makes value the holder of a lock on these nodes, without expiry if ttl is zero.
func (w *World) put(t *testing.T, name, value string, ttl time.Duration, nodes ...int) {
	t.Helper()
	w.records().Put(t, name, value, ttl, w.raw(nodes)...)
}

// drop removes a lock from these nodes.
func (w *World) drop(t *testing.T, name string, nodes ...int) {
	t.Helper()
	w.records().Drop(t, name, w.raw(nodes)...)
}

// awaitOn waits until a lock is on that many nodes.
func (w *World) awaitOn(t *testing.T, name string, nodes int) {
	t.Helper()
	w.Await(t, fmt.Sprintf("lock %q on %d nodes", name, nodes), settled, func() bool {
		return w.on(t, name) == nodes
	})
}

// left fails the test unless each lock is on exactly that many nodes once everything has settled. In a bubble, where
// time costs nothing, it checks only then, so no passing state can satisfy it.
func (w *World) left(t *testing.T, nodes int, names ...string) {
	t.Helper()
	if w.Busy == 0 {
		time.Sleep(settled)
	}
	for _, name := range names {
		if w.Busy > 0 {
			w.awaitOn(t, name, nodes)
		} else if got := w.on(t, name); got != nodes {
			t.Errorf("%v after the last call, the lock %q is on %d nodes, want %d", settled, name, got, nodes)
		}
	}
}

func (w *World) all() []int      { return upTo(w.Size()) }
func (w *World) minority() []int { return upTo(w.Size() / 2) }
func (w *World) majority() []int { return upTo(w.Size()/2 + 1) }

func upTo(n int) []int {
	nodes := make([]int, n)
	for i := range nodes {
		nodes[i] = i
	}
	return nodes
}

// take acquires a lock that is free, or soon will be.
func (p *Process) take(t *testing.T, name string, opts ...redlock.AcquireOption) *redlock.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), awaitLimit)
	defer cancel()
	lease, err := p.Acquire(ctx, name, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// takeAll is take, but waits until the lock is on all nodes.
func (w *World) takeAll(
	t *testing.T, p *Process, name string, opts ...redlock.AcquireOption,
) *redlock.Lease {
	t.Helper()
	lease := p.take(t, name, opts...)
	w.awaitOn(t, name, w.Size())
	return lease
}

// warm opens a connection to every node and loads the scripts there, so that a fault hits a running system.
func (p *Process) warm(t *testing.T) {
	t.Helper()
	for _, node := range p.Locker.Nodes(t.Context()) {
		if node.Err != nil {
			t.Error(node.Err)
		}
	}
}

func release(t *testing.T, lease *redlock.Lease) {
	t.Helper()
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }
