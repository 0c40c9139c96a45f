package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/redlock"
)

// another is what the key of a lock holds that somebody else has.
const another = "1:another:1:someone else"

func (w *World) lockKey(name string) string  { return "{" + w.Prefix + "}:lock:" + name }
func (w *World) fenceKey(name string) string { return "{" + w.Prefix + "}:fence:" + name }
func (w *World) guardKey() string            { return "{" + w.Prefix + "}:guard" }

// holder is what node i has at the key of a lock, empty if nothing.
func (w *World) holder(t *testing.T, name string, i int) string {
	t.Helper()
	value, err := w.Raw(i).Get(t.Context(), w.lockKey(name)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return value
}

// on counts the nodes that have something at the key of a lock.
func (w *World) on(t *testing.T, name string) int {
	t.Helper()
	n := 0
	for i := range w.Size() {
		there, err := w.Raw(i).Exists(t.Context(), w.lockKey(name)).Result()
		if err != nil {
			t.Fatal(err)
		}
		n += int(there)
	}
	return n
}

// awaitOn waits until a lock is on that many nodes.
func (w *World) awaitOn(t *testing.T, name string, nodes int) {
	t.Helper()
	w.Await(t, fmt.Sprintf("lock %q on %d nodes", name, nodes), settled, func() bool {
		return w.on(t, name) == nodes
	})
}

// left wants that locks are on that many nodes each, and no more, when all is settled. In a bubble,
// where time costs nothing, it looks no sooner: nothing passes that was so for a moment only.
func (w *World) left(t *testing.T, nodes int, names ...string) {
	t.Helper()
	if w.Busy == 0 {
		time.Sleep(settled)
	}
	for _, name := range names {
		if w.Busy > 0 {
			w.awaitOn(t, name, nodes)
		} else if got := w.on(t, name); got != nodes {
			t.Errorf("%v after all was well, the lock %q is on %d nodes, want %d",
				settled, name, got, nodes)
		}
	}
}

// put makes somebody else the holder of a lock on nodes, for good if ttl is zero.
func (w *World) put(t *testing.T, name, value string, ttl time.Duration, nodes ...int) {
	t.Helper()
	for _, i := range nodes {
		if err := w.Raw(i).Set(t.Context(), w.lockKey(name), value, ttl).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// drop takes a lock away from nodes, as a person with redis-cli may.
func (w *World) drop(t *testing.T, name string, nodes ...int) {
	t.Helper()
	for _, i := range nodes {
		if err := w.Raw(i).Del(t.Context(), w.lockKey(name)).Err(); err != nil {
			t.Fatal(err)
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

// take waits for a lock that is free, or will soon be.
func (p *Process) take(t *testing.T, name string, opts ...redlock.AcquireOption) *redlock.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lease, err := p.Acquire(ctx, name, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// takeAll is take, and waits until the lock is on all nodes.
func (w *World) takeAll(
	t *testing.T, p *Process, name string, opts ...redlock.AcquireOption,
) *redlock.Lease {
	t.Helper()
	lease := p.take(t, name, opts...)
	w.awaitOn(t, name, w.Size())
	return lease
}

// warm opens a connection to every node and tells it the scripts, so that a fault meets a running
// system.
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

func wantErr(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("got error %v, want one that is %v", err, target)
		}
	}
}

func wantText(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got error %v, want %q in it", err, part)
		}
	}
}

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }
