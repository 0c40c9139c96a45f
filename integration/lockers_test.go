//go:build unix

package integration_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/redlock"
)

// startServers starts nodes that nobody has used yet, with arguments of redis-server's own.
func startServers(t *testing.T, n int, args ...string) *redisproc.Cluster {
	t.Helper()
	still.tell(t)
	nodes, err := redisproc.Start(t.Context(), n, args...)
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, nodes.Close)
	return nodes
}

// closeAfter closes something after the test, before what was there earlier.
func closeAfter(t *testing.T, closing func() error) {
	t.Helper()
	t.Cleanup(func() {
		if err := closing(); err != nil {
			t.Error(err)
		}
	})
}

// lockerOn makes a Locker, closed after the test.
func lockerOn(t *testing.T, nodes []redis.UniversalClient, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	l, err := redlock.New(nodes, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), nodeTimeout)
		defer cancel()
		_ = l.Close(ctx) // it names the leases that a test left, and the nodes that are gone
	})
	return l
}

// clients makes one for each address, with go-redis's defaults.
func clients(t *testing.T, addrs ...string) []redis.UniversalClient {
	t.Helper()
	var all []redis.UniversalClient
	for _, client := range admins(t, addrs) {
		all = append(all, client)
	}
	return all
}

// acquire waits for a lock.
func acquire(
	t *testing.T, l *redlock.Locker, name string, opts ...redlock.AcquireOption,
) *redlock.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lease, err := l.Acquire(ctx, name, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// release releases a lease that must still be held.
func release(t *testing.T, lease *redlock.Lease) {
	t.Helper()
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// locked tells whether the server holds the lock for somebody.
func locked(t *testing.T, server redis.UniversalClient, name string) bool {
	t.Helper()
	n, err := server.Exists(t.Context(), "{redlock}:lock:"+name).Result()
	if err != nil {
		t.Fatal(err)
	}
	return n == 1
}

// complaints are what a Locker tells of its nodes' failures.
type complaints struct {
	mu  sync.Mutex // guards the field below
	all []string
}

// option has a Locker tell them.
func (c *complaints) option() redlock.Option {
	return redlock.WithHooks(redlock.Hooks{NodeError: func(node, op string, err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all = append(c.all, fmt.Sprintf("%s: %v", op, err))
	}})
}

// wantTold wants that this was told, and nothing else and nothing twice. The patterns are in the
// order of what they match.
func wantTold(t *testing.T, told *complaints, patterns ...string) {
	t.Helper()
	if !slices.EqualFunc(told.sorted(), patterns, func(told, pattern string) bool {
		return regexp.MustCompile(pattern).MatchString(told)
	}) {
		t.Errorf("told %q, want %q, each once", told.sorted(), patterns)
	}
}

func (c *complaints) sorted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(slices.Values(c.all))
}
