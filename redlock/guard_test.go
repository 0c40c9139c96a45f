package redlock_test

import (
	"context"
	"errors"
	"strings"
	"sync"
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
		if d < ttl || d > ttl+100*time.Millisecond {
			t.Errorf("it took %v, want the guard's %v and little more", d, ttl)
		}
		if asked := c.Requests(0) - before; asked > 12 {
			t.Errorf("%d requests while there was nothing to do but wait", asked)
		}
	})
}

// single makes a process whose node list contains only the first node.
func single(c *bubble.Cluster) *redlock.Locker {
	c.T.Helper()
	l, err := redlock.New(c.Links().Clients()[:1])
	if err != nil {
		c.T.Fatal(err)
	}
	c.T.Cleanup(func() { _ = l.Close(context.Background()) }) // its leases run out
	return l
}

func TestGuard_RefusesListsOfAnotherLength(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		mustAcquire(t, l, "x")
		synctest.Wait()
		single := single(c)
		_, err := single.Acquire(t.Context(), "y") // does not wait
		want.Err(t, err, redlock.ErrConfig)
		want.Text(t, err, "a list of 3 nodes", "this list has 1")
		time.Sleep(ttl + ttl/4)
		mustAcquire(t, single, "y") // the other list is no longer in use
		_, err = l.TryAcquire(t.Context(), "z")
		if err != nil {
			t.Errorf("a majority was not asked with the other length: %v", err)
		}
	})
}

// A lease that is extended keeps its node list in use, even if nothing new is acquired.
func TestGuard_ExtensionsKeepTheListInUse(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		lease := mustAcquire(t, l, "x", redlock.WithAutoExtend(redlock.Extension{}))
		time.Sleep(10 * ttl)
		_, err := single(c).TryAcquire(t.Context(), "y")
		want.Err(t, err, redlock.ErrConfig)
		if !lease.Valid() {
			t.Error("lost")
		}
	})
}

// All clients wait for the longest lease that any client may have.
func TestGuard_WaitsForTheLongestLeaseOfThePrefix(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		var mu sync.Mutex
		var reported []string
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

		short, _ := c.Locker(redlock.WithHooks(redlock.Hooks{
			NodeError: func(_, op string, err error) {
				mu.Lock()
				defer mu.Unlock()
				reported = append(reported, op+": "+err.Error())
			},
		}))
		mustAcquire(t, short, "y")
		synctest.Wait()
		if text := strings.Join(reported, "\n"); len(reported) != 3 || !strings.Contains(text, "max ttl: ") ||
			!strings.Contains(text, "1m0s") || !strings.Contains(text, "10s") {
			t.Errorf("reported %q", reported)
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

func TestGuard_HookTellsWhenItBeginsAndEnds(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		var mu sync.Mutex
		var reported []time.Duration
		l, _ := c.Locker(redlock.WithHooks(redlock.Hooks{
			Guarded: func(node string, left time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				if node != c.Addrs()[2] {
					t.Errorf("guarded: %s", node)
				}
				reported = append(reported, left)
			},
		}))
		warmUp(t, l)
		c.Wipe(2)
		for range 30 {
			warmUp(t, l)
			time.Sleep(ttl / 20)
		}
		if len(reported) != 2 || reported[0] != ttl || reported[1] != 0 {
			t.Errorf("reported %v, want %v and 0", reported, ttl)
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

		var reported []string
		l, _ := c.Locker(redlock.WithUnseenRestarts(), redlock.WithHooks(redlock.Hooks{
			NodeError: func(_, op string, err error) { reported = append(reported, op+": "+err.Error()) },
		}))
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
		said := 0
		for _, text := range reported {
			if strings.Contains(text, "INFO is not permitted") {
				said++
			}
		}
		if said != 1 {
			t.Errorf("reported %q", reported)
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
				var mu sync.Mutex
				var reported []string
				l, _ := c.Locker(redlock.WithHooks(redlock.Hooks{NodeError: func(node, op string, err error) {
					mu.Lock()
					defer mu.Unlock()
					if op == "guard" {
						reported = append(reported, node+": "+err.Error())
					}
				}}))
				warmUp(t, l)
				change.of(c)
				for range 3 {
					time.Sleep(time.Second)
					warmUp(t, l)
				}
				if len(reported) != 1 || !strings.HasPrefix(reported[0], c.Addrs()[0]+": "+change.reported) {
					t.Errorf("reported %q, want %q once", reported, change.reported)
				}
			})
		})
	}
}
