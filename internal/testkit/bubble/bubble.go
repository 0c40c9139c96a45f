// Package bubble runs tests in a testing/synctest bubble with in-memory nodes. Time is virtual, and hours of cluster
// time take milliseconds.
package bubble

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/aged"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// Cluster is n nodes in a bubble.
type Cluster struct {
	*nodetest.Cluster
	T     *testing.T // of the bubble
	N     int        // how many nodes
	Start time.Time  // of the test

	options []redlock.Option
}

// Run runs test in a bubble with n nodes that grant leases at once. The options are those of every Locker that the
// test makes.
func Run(t *testing.T, n int, test func(t *testing.T, c *Cluster), opts ...redlock.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		nodes, err := aged.Start(n, opts...)
		want.NoError(t, err)
		t.Cleanup(nodes.Close)
		test(t, &Cluster{Cluster: nodes, T: t, N: n, Start: time.Now(), options: opts})
	})
}

// RunFresh is like Run, but the nodes have just started and are empty, like new servers.
func RunFresh(t *testing.T, n int, test func(t *testing.T, c *Cluster), opts ...redlock.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		nodes := nodetest.Start(n)
		t.Cleanup(nodes.Close)
		test(t, &Cluster{Cluster: nodes, T: t, N: n, Start: time.Now(), options: opts})
	})
}

// Locker makes another process and its Locker, which is closed at the end of the test. Faults set on the Links affect
// only that process.
func (c *Cluster) Locker(opts ...redlock.Option) (*redlock.Locker, *nodetest.Links) {
	c.T.Helper()
	return c.LockerOf(c.all(), opts...)
}

// LockerOf is Locker with a list of some of the nodes, in that order.
func (c *Cluster) LockerOf(nodes []int, opts ...redlock.Option) (*redlock.Locker, *nodetest.Links) {
	c.T.Helper()
	links := c.Links()
	return c.locker(links, nodes, opts), links
}

func (c *Cluster) all() (nodes []int) {
	for i := range c.N {
		nodes = append(nodes, i)
	}
	return nodes
}

// LockerOn makes a Locker for the process with these links. It is closed at the end of the test.
func (c *Cluster) LockerOn(links *nodetest.Links, opts ...redlock.Option) *redlock.Locker {
	c.T.Helper()
	return c.locker(links, c.all(), opts)
}

func (c *Cluster) locker(links *nodetest.Links, nodes []int, opts []redlock.Option) *redlock.Locker {
	c.T.Helper()
	all := links.Clients()
	var some []redis.UniversalClient
	for _, i := range nodes {
		some = append(some, all[i])
	}
	l, err := redlock.New(some, append(slices.Clip(c.options), opts...)...)
	want.NoError(c.T, err)
	c.T.Cleanup(func() {
		c.Heal() // Close waits for calls to nodes, which may hang
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = l.Close(ctx) // names the leases that the test has left
	})
	return l
}

// At returns the time from the start of the test to t.
func (c *Cluster) At(t time.Time) time.Duration { return t.Sub(c.Start) }

// SleepTo sleeps until d after the start of the test, and until every goroutine of the bubble waits.
func (c *Cluster) SleepTo(d time.Duration) {
	time.Sleep(time.Until(c.Start.Add(d)))
	synctest.Wait()
}

// Asked returns how many requests all nodes together have received.
func (c *Cluster) Asked() int {
	n := 0
	for i := range c.N {
		n += c.Requests(i)
	}
	return n
}

// Await sleeps until ok returns true, and calls ok every millisecond. It ends the test if that takes longer than limit.
func Await(t testing.TB, what string, limit time.Duration, ok func() bool) {
	t.Helper()
	for start := time.Now(); !ok(); time.Sleep(time.Millisecond) {
		if time.Since(start) > limit {
			t.Fatalf("%s: not within %v", what, limit)
		}
	}
}

// Took returns the virtual time that fn takes.
func Took(fn func()) time.Duration {
	start := time.Now()
	fn()
	return time.Since(start)
}
