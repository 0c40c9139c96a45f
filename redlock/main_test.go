package redlock_test

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
)

func TestMain(m *testing.M) {
	logging.Disable() // go-redis reports each failed dial on its own
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// With the TTL of these tests, 10 s, the rest of the settings is this.
const (
	ttl         = 10 * time.Second
	nodeTimeout = 200 * time.Millisecond
	validFor    = ttl - ttl/100 - 2*time.Millisecond
)

// cluster is n nodes in a bubble of virtual time.
type cluster struct {
	*nodetest.Cluster
	t      *testing.T
	n      int
	nodes  *redlocktest.Nodes
	before []*nodetest.Snapshot
}

func bubble(t *testing.T, n int, test func(t *testing.T, c *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.New(t, n, redlock.WithTTL(ttl))
		test(t, &cluster{Cluster: nodes.Engine(), t: t, n: n, nodes: nodes})
	})
}

// locker makes another process and its Locker.
func (c *cluster) locker(opts ...redlock.Option) (*redlock.Locker, *redlocktest.Process) {
	c.t.Helper()
	p := c.nodes.Process()
	return p.Locker(opts...), p
}

// mustAcquire takes a lock that is free.
func mustAcquire(t *testing.T, l *redlock.Locker, name string, opts ...redlock.AcquireOption) *redlock.Lease {
	t.Helper()
	lease, err := l.TryAcquire(t.Context(), name, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// keys counts the nodes that have a lock of that name.
func (c *cluster) keys(name string) int {
	n := 0
	for i := range c.n {
		if c.Node(i).Exists("{redlock}:lock:" + name) {
			n++
		}
	}
	return n
}

// drop takes the lock away from nodes, as a person with redis-cli may.
func (c *cluster) drop(name string, nodes ...int) {
	for _, i := range nodes {
		c.Node(i).Del("{redlock}:lock:" + name)
	}
}

// fence is a node's counter for a lock.
func (c *cluster) fence(name string, node int) uint64 {
	c.t.Helper()
	text, err := c.Node(node).Get("{redlock}:fence:" + name)
	if err != nil {
		c.t.Fatal(err)
	}
	var number, under uint64
	if _, err := fmt.Sscanf(text, "1:%d:%d", &number, &under); err != nil {
		c.t.Fatalf("the fence holds %q: %v", text, err)
	}
	return number
}

// take makes a node say that another holds the lock.
func (c *cluster) take(name string, nodes ...int) { c.takeBy("another", name, nodes...) }

func (c *cluster) takeBy(who, name string, nodes ...int) {
	c.t.Helper()
	for _, i := range nodes {
		key := "{redlock}:lock:" + name
		if err := c.Node(i).Set(key, "1:"+who+":1:someone else"); err != nil {
			c.t.Fatal(err)
		}
		c.Node(i).SetTTL(key, time.Hour)
	}
}

func wantErr(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Fatalf("got error %v, want one that is %v", err, target)
		}
	}
}

func wantText(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got error %q, want %q in it", err, part)
		}
	}
}

// took returns the virtual time that fn takes.
func took(fn func()) time.Duration {
	start := time.Now()
	fn()
	return time.Since(start)
}
