//go:build unix

package test_test

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

const (
	second = time.Second // the longest TTL; the probe takes whole seconds
	wait   = 2*second + 2*time.Second
)

// ready runs the probe of a node as the kubelet does, with redis-cli, or the client that REDIS_CLI names, such as valkey-cli.
func ready(ctx context.Context, addr string, env ...string) (bool, string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false, err.Error()
	}
	probe := exec.CommandContext(ctx, "sh", "../nodes/ready.sh")
	probe.Env = append(os.Environ(), append([]string{
		fmt.Sprintf("REDLOCK_CLI=%s -h %s -p %s", cmp.Or(os.Getenv("REDIS_CLI"), "redis-cli"), host, port), "REDLOCK_MAX_TTL=1",
	}, env...)...)
	out, err := probe.CombinedOutput()
	if ctx.Err() != nil { // Kubernetes kills it as well
		return false, "not ready: the probe has not returned in time"
	}
	return err == nil, strings.TrimSpace(string(out))
}

func startNodes(t *testing.T, n int, args ...string) *redisproc.Cluster {
	t.Helper()
	nodes, err := redisproc.Start(t.Context(), n, args...)
	want.NoError(t, err)
	t.Cleanup(func() {
		if err := nodes.Close(); err != nil {
			t.Error(err)
		}
	})
	return nodes
}

func client(t *testing.T, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// locker returns a Locker like that of a service with this TTL.
func locker(t *testing.T, ttl time.Duration, urls []string, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	l, err := redlock.Open(urls, append(opts, redlock.WithTTL(ttl), redlock.WithNodeTimeout(ttl/5))...)
	want.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), ttl)
		defer cancel()
		_ = l.Close(ctx) // leases that a test has left expire
	})
	return l
}

// until waits for something to become true.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a minute not true: %s", what)
		}
	}
}

// awaitReady returns when the probe says that the node is ready. It fails the test if that is before notBefore.
func awaitReady(t *testing.T, addr string, notBefore time.Time, env ...string) {
	t.Helper()
	until(t, addr+" is ready", func() bool {
		is, why := ready(t.Context(), addr, env...)
		if !is && !strings.HasPrefix(why, "not ready: ") {
			t.Fatalf("the probe says %q", why)
		}
		return is
	})
	if time.Now().Before(notBefore) {
		t.Fatalf("ready %v too early", time.Until(notBefore))
	}
}

// While a guard lasts, and for as long after it, the node may lack a lease that it lost.
func TestReady_NotBeforeTheGuardIsLongOver(t *testing.T) {
	t.Parallel()
	began := time.Now()
	node := startNodes(t, 1).Node(0)
	awaitReady(t, node.Addr(), began.Add(wait)) // a new node that nobody uses
	flushed := time.Now()
	want.NoError(t, client(t, node.Addr()).FlushAll(t.Context()).Err())
	l := locker(t, second, []string{node.Addr()})
	if _, err := l.TryAcquire(t.Context(), "x"); err == nil {
		t.Error("the node grants at once")
	}
	if is, why := ready(t.Context(), node.Addr()); is || !strings.Contains(why, "its guard began 0s ago") {
		t.Errorf("ready: %v, %q", is, why)
	}
	awaitReady(t, node.Addr(), flushed.Add(wait))
	if _, err := l.TryAcquire(t.Context(), "x"); err != nil {
		t.Errorf("it is ready, and grants nothing: %v", err)
	}
}

// A service uses the node with a longer TTL than the manifest says.
func TestReady_WaitsForTheLongestLeaseThatTheNodeKnows(t *testing.T) {
	t.Parallel()
	node := startNodes(t, 1).Node(0)
	began := time.Now()
	_, _ = locker(t, 2*second, []string{node.Addr()}).TryAcquire(t.Context(), "x")
	awaitReady(t, node.Addr(), began.Add(2*2*second+2*time.Second))
}

func TestReady_SaysWhyNot(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 2)
	addr := nodes.Node(0).Addr()
	server := client(t, addr)
	awaitReady(t, addr, time.Now())
	identity, err := server.InfoMap(t.Context(), "replication").Result()
	if err != nil {
		t.Fatal(err)
	}
	id := identity["Replication"]["master_replid"]
	says := func(addr, want string) {
		t.Helper()
		if is, why := ready(t.Context(), addr); is != (want == "") || !strings.Contains(why, want) {
			t.Errorf("ready %v, %q, want %q", is, why, want)
		}
	}
	for guard, want := range map[string]string{
		"4 " + id + " x": "a guard of another version", "nonsense": "a guard of another version",
		fmt.Sprintf("3 %s %016d %016d %012d %016x %013d", id, time.Now().Add(time.Hour).UnixMicro(), 0, 8, 1, 0): "s ago, 36",
		fmt.Sprintf("3 %040d %016d %016d %012d %016x %013d", 7, time.Now().UnixMicro(), 0, 8, 1, 0):              "", // of another run
	} {
		if err := server.HSet(t.Context(), "{redlock}", "g", guard).Err(); err != nil {
			t.Fatal(err)
		}
		says(addr, want)
	}
	if err := server.Set(t.Context(), "{redlock}", "no hash", 0).Err(); err != nil {
		t.Fatal(err)
	}
	says(addr, "another version")
	says("127.0.0.1:1", "refused")
	host, port, _ := net.SplitHostPort(nodes.Node(1).Addr())
	if err := server.ReplicaOf(t.Context(), host, port).Err(); err != nil {
		t.Fatal(err)
	}
	says(addr, `its role is "slave"`)
}
