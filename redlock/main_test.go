package redlock_test

import (
	"flag"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestMain(m *testing.M) {
	flag.Parse()
	configureRapid()
	testmain.Run(m)
}

// The default settings, and how long a lease is valid for its holder.
const (
	ttl         = 10 * time.Second
	nodeTimeout = 200 * time.Millisecond
	validFor    = ttl - ttl/100 - 2*time.Millisecond
)

// long skips a test that takes seconds of processor time where short ones are wanted, as with the race detector: it makes them minutes.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes long")
	}
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

// acquireAndRelease returns the token, when all nodes have answered.
func acquireAndRelease(t *testing.T, l *redlock.Locker, name string) uint64 {
	t.Helper()
	lease := mustAcquire(t, l, name)
	synctest.Wait()
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return lease.Token()
}

// takeTurns takes the lock "x" so many times and returns the longest wait for it.
func takeTurns(t *testing.T, l *redlock.Locker, turns int, hold time.Duration) (longest time.Duration) {
	t.Helper()
	for range turns {
		began := time.Now()
		lease, err := l.Acquire(t.Context(), "x")
		if err != nil {
			t.Error(err)
			return longest
		}
		longest = max(longest, time.Since(began))
		time.Sleep(hold)
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
	return longest
}

// warmUp opens connections and loads scripts, so that a fault hits a running system.
func warmUp(t *testing.T, l *redlock.Locker) {
	t.Helper()
	acquireAndRelease(t, l, "warm up")
}

// on counts the nodes that hold a lock.
func on(c *bubble.Cluster, name string) int {
	c.T.Helper()
	return records.Default.On(c.T, name, c.Raw()...)
}

// take makes somebody else the holder of a lock on these nodes, for an hour.
func take(c *bubble.Cluster, name string, nodes ...int) {
	c.T.Helper()
	records.Default.Put(c.T, name, records.SomebodyElse, time.Hour, raw(c, nodes...)...)
}

// drop removes a lock from these nodes.
func drop(c *bubble.Cluster, name string, nodes ...int) {
	c.T.Helper()
	records.Default.Drop(c.T, name, raw(c, nodes...)...)
}

// raw returns clients of these nodes that bypass all faults.
func raw(c *bubble.Cluster, nodes ...int) []*redis.Client {
	all := c.Raw()
	var some []*redis.Client
	for _, i := range nodes {
		some = append(some, all[i])
	}
	return some
}
