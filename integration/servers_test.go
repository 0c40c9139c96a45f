//go:build unix

package integration_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/redlock"
)

const (
	// waitLimit is how long a test waits for something that must happen.
	waitLimit = 2 * time.Minute

	// busy is how much a machine with other work may delay something.
	busy = 2 * time.Second

	// longTimeout is for single calls, which have no second attempt when the machine is busy.
	longTimeout = time.Second
)

// persist makes a server write everything to disk before it answers.
var persist = []string{"--appendonly", "yes", "--appendfsync", "always"}

// forgetting are the ways in which a server may lose the locks that it has granted.
var forgetting = map[string]func(context.Context, *redisproc.Node) error{
	"restarted empty": func(ctx context.Context, n *redisproc.Node) error {
		return errors.Join(n.Kill(), n.RestartEmpty(ctx))
	},
	"restarted with an older file": func(ctx context.Context, n *redisproc.Node) error {
		return errors.Join(n.Kill(), n.RestartFromBackup(ctx))
	},
	"restarted with its file": func(ctx context.Context, n *redisproc.Node) error {
		return errors.Join(n.Kill(), n.Restart(ctx))
	},
	"flushed": func(ctx context.Context, n *redisproc.Node) error {
		server := redis.NewClient(&redis.Options{Addr: n.Addr()})
		return errors.Join(server.FlushAll(ctx).Err(), server.Close())
	},
}

// many has a place for each test with nine or more replicas that may run at a time.
var many = make(chan struct{}, 2)

// oneOfMany runs the test in parallel, but beside one other test at most that has as many replicas. On two processors,
// more such tests would slow each other down until healthy leases end.
func oneOfMany(t *testing.T) {
	t.Helper()
	t.Parallel()
	many <- struct{}{}
	t.Cleanup(func() { <-many })
}

// must ends the test on an error.
func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// poll calls there until it returns true.
func poll(t *testing.T, what string, there func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !there() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("after %v there was no %s", waitLimit, what)
		}
	}
}

// startServers starts new nodes, which grant nothing at first, with arguments for redis-server.
func startServers(t *testing.T, n int, args ...string) *redisproc.Cluster {
	t.Helper()
	still.tell(t)
	nodes, err := redisproc.Start(t.Context(), n, args...)
	must(t, err)
	closeAfter(t, nodes.Close)
	return nodes
}

// startNodes starts nodes whose guard is over, with arguments for redis-server.
func startNodes(t *testing.T, n int, args ...string) *redisproc.Cluster {
	t.Helper()
	nodes := startServers(t, n, args...)
	// A guard lasts for the longest TTL that its node has learned of, so this TTL is shorter than that of any test.
	l := lockerOn(t, clients(t, nodes.Addrs()...), redlock.WithTTL(leaseTTL), redlock.WithNodeTimeout(leaseTTL/4))
	servers := admins(t, nodes.Addrs())
	poll(t, "guard on each node", func() bool {
		_, _ = l.TryAcquire(t.Context(), "first") // the first call starts the guard, and is refused
		return !slices.ContainsFunc(servers, func(s *redis.Client) bool { return !records.Default.Guarded(t, s) })
	})
	for _, server := range servers {
		records.Default.Age(t, server)
	}
	return nodes
}

// allGrant reports whether the guards of all nodes are over.
func allGrant(ctx context.Context, l *redlock.Locker) bool {
	return !slices.ContainsFunc(l.Nodes(ctx), func(n redlock.NodeStatus) bool { return n.Err != nil || n.Guard > 0 })
}

// closeAfter closes something after the test, in the reverse order of the calls.
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
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), nodeTimeout)
		defer cancel()
		_ = l.Close(ctx) // the error names the leases that a test left, and the nodes that are gone
	})
	return l
}

// admins makes a client for each address, with go-redis's defaults.
func admins(t *testing.T, addrs []string) []*redis.Client {
	t.Helper()
	var all []*redis.Client
	for _, addr := range addrs {
		client := redis.NewClient(&redis.Options{Addr: addr})
		closeAfter(t, client.Close)
		all = append(all, client)
	}
	return all
}

// clients makes clients like admins, for a Locker.
func clients(t *testing.T, addrs ...string) []redis.UniversalClient {
	t.Helper()
	var all []redis.UniversalClient
	for _, client := range admins(t, addrs) {
		all = append(all, client)
	}
	return all
}

// acquire waits for a lock.
func acquire(t *testing.T, l *redlock.Locker, name string, opts ...redlock.AcquireOption) *redlock.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	lease, err := l.Acquire(ctx, name, opts...)
	must(t, err)
	return lease
}

// release releases a lease that must still be held.
func release(t *testing.T, lease *redlock.Lease) {
	t.Helper()
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// complaints records what a Locker reports as wrong with its nodes.
type complaints struct {
	mu  sync.Mutex // guards the field below
	all []string
}

// of makes it record what this Locker reports.
func (c *complaints) of(l *redlock.Locker) *redlock.Locker {
	l.OnNode(func(e redlock.NodeEvent) { // until the Locker is closed
		if e.Err != nil && e.Kind != redlock.NodeChanged {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.all = append(c.all, fmt.Sprintf("%s: %v", e.Op, e.Err))
		}
	})
	return l
}

// wantReported checks that exactly these errors are reported, each once. The patterns are in the order of the errors.
func wantReported(t *testing.T, reported *complaints, patterns ...string) {
	t.Helper()
	poll(t, "report", func() bool { return len(reported.sorted()) >= len(patterns) })
	if !slices.EqualFunc(reported.sorted(), patterns, func(reported, pattern string) bool {
		return regexp.MustCompile(pattern).MatchString(reported)
	}) {
		t.Errorf("reported %q, want %q, each once", reported.sorted(), patterns)
	}
}

func (c *complaints) sorted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(slices.Values(c.all))
}
