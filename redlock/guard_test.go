package redlock_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestGuard_AcquireWaitsItOut(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		warmUp(t, l)
		c.Wipe(0)
		c.Wipe(1)
		var lease *redlock.Lease
		var err error
		before := c.Requests(0)
		d := bubble.Took(func() { lease, err = l.Acquire(t.Context(), "x") })
		if err != nil || !lease.Valid() {
			t.Fatal(err)
		}
		if d < ttl || d > 2*ttl+2*time.Second {
			t.Errorf("it took %v, want %v until the third node is unused, the guard's %v, and little more", d, ttl+time.Second, ttl)
		}
		if asked := c.Requests(0) - before; asked > 30 {
			t.Errorf("%d requests while there was nothing to do but wait", asked)
		}
	})
}

// The guard of a node that restarts starts even while its only lock is held and extended, so that the wait is over once it is
// released.
func TestGuard_StartsWhileEveryLockIsHeld(t *testing.T) {
	bubble.Run(t, 1, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		lease := mustAcquire(t, l, "x", redlock.WithAutoExtend(redlock.Extension{Every: ttl / 40}))
		c.Restart(0) // keeps its data
		waiter, _ := c.Locker()
		time.Sleep(ttl / 100) // extensions are due every quarter of a second, and this is between them
		for range 15 {
			time.Sleep(ttl / 10)
			_, err := waiter.TryAcquire(t.Context(), "x")
			want.Err(t, err, redlock.ErrHeld)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
		mustAcquire(t, waiter, "x")
	})
}

// All clients wait for the longest lease that any client may have.
func TestGuard_WaitsForTheLongestLeaseOfThePrefix(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		for i := range 3 {
			c.Restart(i)
		}
		first, _ := c.Locker()
		warmGuard(t, first) // for a lease of 10 s
		long, _ := c.Locker(redlock.WithMaxTTL(time.Minute))
		_, err := long.TryAcquire(t.Context(), "x")
		want.Err(t, err, redlock.ErrGuarded) // the nodes are younger than a minute
		synctest.Wait()
		time.Sleep(time.Minute)
		mustAcquire(t, long, "x")
		synctest.Wait()

		short, _ := c.Locker()
		reported := reportsOf(short, redlock.NodeProblem)
		mustAcquire(t, short, "y")
		if all := reported(); len(all) != 3 || all[0].Op != "max ttl" || !strings.Contains(all[0].Err.Error(), "1m0s") ||
			!strings.Contains(all[0].Err.Error(), "10s") {
			t.Errorf("reported %+v", all)
		}
		c.Restart(0) // keeps its data
		c.Restart(1)
		_, err = short.TryAcquire(t.Context(), "z")
		want.Err(t, err, redlock.ErrGuarded)
		want.Text(t, err, "another 1m0s")
	})
}

// A service with a mistyped MaxTTL must not stop all other services of its prefix for years.
func TestGuard_WaitsForADayAtMostForTheLeaseOfAnother(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		long, _ := c.Locker(redlock.WithMaxTTL(900 * time.Hour))
		warmUp(t, long)
		for i := range 3 {
			c.Restart(i)
		}
		l, _ := c.Locker()
		_, err := l.TryAcquire(t.Context(), "x")
		want.Err(t, err, redlock.ErrGuarded)
		want.Text(t, err, "another 24h0m0s")
	})
}

func TestGuard_ClockThatIsBehindBeginsItAnew(t *testing.T) {
	bubble.Run(t, 1, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		warmUp(t, l)
		c.Offset(0, -10_000*time.Hour) // before it was used for the first time
		_, err := l.TryAcquire(t.Context(), "x")
		want.Err(t, err, redlock.ErrGuarded)
		time.Sleep(ttl)
		mustAcquire(t, l, "x")
	})
}

func TestGuard_AnEventTellsWhenItBeginsAndEnds(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		reported := reportsOf(l, redlock.NodeGuarded, redlock.NodeGrants)
		warmUp(t, l)
		c.Wipe(2)
		warmUp(t, l) // has the node replaced in the list, which starts its guard
		time.Sleep(ttl / 20)
		for range 30 {
			warmUp(t, l)
			time.Sleep(ttl / 20)
		}
		node := c.Addrs()[2]
		want := []redlock.NodeEvent{
			{Kind: redlock.NodeGuarded, Addr: node, Duration: ttl - ttl/20}, {Kind: redlock.NodeGrants, Addr: node},
		}
		if all := reported(); !slices.Equal(all, want) {
			t.Errorf("reported %+v, want %+v", all, want)
		}
	})
}

// If INFO is not permitted, a restart is detected only if the data is gone. A Locker that accepts this reports it once.
func TestGuard_WithoutInfo(t *testing.T) {
	bubble.Run(t, 1, func(t *testing.T, c *bubble.Cluster) {
		c.Deny(0, "INFO")
		refusing, _ := c.Locker()
		_, err := refusing.Acquire(t.Context(), "x") // does not wait
		want.Err(t, err, redlock.ErrConfig)
		want.Text(t, err, "scripts may not call INFO", "WithUnseenRestarts")
		want.Text(t, refusing.Nodes(t.Context())[0].Err, "scripts may not call INFO")

		l, _ := c.Locker(redlock.WithUnseenRestarts())
		reported := reportsOf(l, redlock.NodeProblem)
		warmGuard(t, l)
		for range 3 {
			warmUp(t, l)
		}
		c.Restart(0)
		time.Sleep(2 * time.Second)
		warmUp(t, l)
		c.Wipe(0)
		_, err = l.TryAcquire(t.Context(), "x")
		want.Err(t, err, redlock.ErrGuarded)
		if all := reported(); len(all) != 1 || !strings.Contains(all[0].Err.Error(), "INFO is not permitted") {
			t.Errorf("reported %+v, want it once", all)
		}
	})
}

// A node that no longer permits INFO grants nothing, and that is reported although its connection and the majority work.
func TestGuard_SaysThatInfoIsNoLongerPermitted(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		reported := reportsOf(l, redlock.NodeProblem)
		for range 2 {
			warmUp(t, l)
			c.Deny(0, "INFO")
			time.Sleep(7 * 24 * time.Hour)
		}
		warmUp(t, l)
		all := reported()
		if len(all) != 2 || all[0].Addr != c.Addrs()[0] || !strings.Contains(all[0].Err.Error(), "scripts may not call INFO") {
			t.Errorf("reported %+v, want it at each of two calls, which are more than a day apart", all)
		}
	})
}

// warmGuard waits until the nodes grant.
func warmGuard(t *testing.T, l *redlock.Locker) {
	t.Helper()
	for {
		lease, err := l.TryAcquire(t.Context(), "warm up")
		if err == nil {
			_ = lease.Release(t.Context())
			return
		}
		if !errors.Is(err, redlock.ErrGuarded) {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
	}
}

// An unexpected guard is explained: the change that caused it distinguishes a restart from a backup.
func TestGuard_SaysWhichOfRunAndReplicationChanged(t *testing.T) {
	for name, change := range map[string]struct {
		of       func(c *bubble.Cluster)
		reported string
	}{
		"restarted": {func(c *bubble.Cluster) { c.Restart(0) }, "another run of the server"},
		"first replica": {func(c *bubble.Cluster) {
			c.SetInfo(0, "master_replid", strings.Repeat("5", 40))
		}, "the same run of the server, "},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				l, _ := c.Locker()
				reported := reportsOf(l, redlock.NodeChanged)
				warmUp(t, l)
				change.of(c)
				for range 3 {
					time.Sleep(time.Second)
					warmUp(t, l)
				}
				all := reported()
				if len(all) != 1 || all[0].Addr != c.Addrs()[0] || !strings.HasPrefix(all[0].Err.Error(), change.reported) {
					t.Errorf("reported %+v, want %q once", all, change.reported)
				}
			})
		})
	}
}
