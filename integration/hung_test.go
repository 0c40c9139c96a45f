//go:build unix

package integration_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/redlock"
)

const (
	// longTimeout is for single calls, which have no second attempt when the machine is busy.
	longTimeout = time.Second

	// callLimit is how long a call may take that a node does not answer. go-redis, left as it comes,
	// would wait for four times 3 s.
	callLimit = longTimeout + time.Second
)

func TestLease_IsNotHeldUpByAHungNodeAndLeavesNothingThere(t *testing.T) {
	nodes := startNodes(t, nodeCount)
	t.Parallel()
	l := openPlain(t, nodes)
	hang(t, nodes, 1)

	var longest time.Duration
	took := func(what string, err error, began time.Time) {
		t.Helper()
		d := time.Since(began)
		longest = max(longest, d)
		if err != nil || d > callLimit {
			t.Fatalf("%s: %v after %v, want success within %v", what, err, d, callLimit)
		}
	}
	for i := range 20 {
		began := time.Now()
		lease, err := l.TryAcquire(t.Context(), fmt.Sprint("lock", i))
		took("acquire", err, began)
		began = time.Now()
		took("extend", lease.Extend(t.Context()), began)
		began = time.Now()
		took("release", lease.Release(t.Context()), began)
	}
	t.Logf("the longest of 60 calls took %v", longest)
	<-time.After(2 * longTimeout) // until the client has hung up on the node, which has yet to read
	wakeAndWantNoLocks(t, nodes, l, 1)
}

func TestFailedAcquire_LeavesNothingOnNodesThatHung(t *testing.T) {
	nodes := startNodes(t, nodeCount)
	t.Parallel()
	l := openPlain(t, nodes)
	hang(t, nodes, majority)

	for i := range 2 {
		began := time.Now()
		_, err := l.TryAcquire(t.Context(), fmt.Sprint("lock", i))
		if took := time.Since(began); !errors.Is(err, redlock.ErrNoQuorum) || took > callLimit {
			t.Fatalf("got %v after %v, want no quorum within %v", err, took, callLimit)
		}
	}
	wakeAndWantNoLocks(t, nodes, l, majority)
}

// openPlain makes a Locker of clients that go-redis makes if it is told an address and no more. It
// knows all nodes, and they grant and log what they are asked: else a node would be sent nothing that
// could take effect after a hang, and nobody would know.
func openPlain(t *testing.T, nodes *redisproc.Cluster) *redlock.Locker {
	t.Helper()
	waitForGuards(t, nodes)
	var clients []redis.UniversalClient
	for _, client := range admins(t, nodes.Addrs()) {
		for setting, value := range map[string]string{
			"slowlog-log-slower-than": "0", "slowlog-max-len": "100000",
		} {
			if err := client.ConfigSet(t.Context(), setting, value).Err(); err != nil {
				t.Fatal(err)
			}
		}
		clients = append(clients, client)
	}
	l, err := redlock.New(clients, redlock.WithTTL(ttl), redlock.WithNodeTimeout(longTimeout))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range l.Nodes(t.Context()) {
		if n.Err != nil {
			t.Fatalf("node %s: %v", n.Addr, n.Err)
		}
	}
	return l
}

// wakeAndWantNoLocks wakes the first nodes and closes the Locker, which returns when it has cleaned
// up.
func wakeAndWantNoLocks(t *testing.T, nodes *redisproc.Cluster, l *redlock.Locker, hung int) {
	t.Helper()
	wake(t, nodes, hung)
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := l.Close(ctx); err != nil {
		t.Error(err)
	}
	took := time.Since(began)
	t.Logf("everything was removed %v after the nodes woke", took)
	if limit := 2*longTimeout + busy; took > limit {
		t.Errorf("it took %v, want at most %v", took, limit)
	}
	for _, server := range admins(t, nodes.Addrs()) {
		locks, err := server.Keys(ctx, "{redlock}:lock:*").Result()
		if err != nil || len(locks) > 0 {
			t.Errorf("left: %v, %v", locks, err)
		}
		handled, err := server.SlowLogGet(ctx, -1).Result()
		if err != nil || !slices.ContainsFunc(handled, isFirstAcquire) {
			t.Errorf("a node did not handle the first acquire, so this shows nothing: %v", err)
		}
	}
}

// isFirstAcquire knows acquire by its three keys.
func isFirstAcquire(handled redis.SlowLog) bool {
	args := handled.Args
	return len(args) > 3 && args[0] == "evalsha" && args[2] == "3" && args[3] == "{redlock}:lock:lock0"
}
