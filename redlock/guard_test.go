package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
)

// Whatever made a node forget or doubt its locks: it grants nothing until MaxTTL has passed, and what
// it still has it extends and releases.
func TestGuard_NodesThatMayHaveForgottenGrantNothing(t *testing.T) {
	for name, forget := range map[string]func(c *cluster, i int){
		"restarted empty":    func(c *cluster, i int) { c.Kill(i); c.Wipe(i); c.Restart(i) },
		"restarted":          func(c *cluster, i int) { c.Restart(i) },
		"flushed":            func(c *cluster, i int) { c.Wipe(i) },
		"promoted":           func(c *cluster, i int) { c.Promote(i) },
		"with an older file": func(c *cluster, i int) { c.RestartFrom(i, c.before[i]) },
	} {
		for _, n := range []int{1, 3, 5} {
			for _, majority := range []bool{false, true} {
				hit := n/2 + 1
				if !majority {
					hit = n / 2
				}
				t.Run(fmt.Sprintf("%d of %d %s", hit, n, name), func(t *testing.T) {
					bubble(t, n, func(t *testing.T, c *cluster) {
						l, _ := c.locker()
						for i := range n {
							c.before = append(c.before, c.Snapshot(i))
						}
						held := mustAcquire(t, l, "x")
						synctest.Wait()
						for i := range hit {
							forget(c, i)
						}
						time.Sleep(2 * time.Second) // what was refused is dialed again once a second

						rival, _ := c.locker()
						_, err := rival.TryAcquire(t.Context(), "x")
						if err == nil {
							t.Fatal("two holders")
						}
						guarded := 0
						for _, node := range rival.Nodes(t.Context()) {
							if node.Guard > 0 {
								guarded++
								if node.Guard > ttl || node.Guard < ttl/2 {
									t.Errorf("%s is guarded for %v", node.Addr, node.Guard)
								}
							}
						}
						if guarded != hit {
							t.Errorf("%d guarded nodes, want %d", guarded, hit)
						}
						if majority {
							_, err := rival.TryAcquire(t.Context(), "y")
							wantErr(t, err, redlock.ErrGuarded)
							wantText(t, err, "grants nothing for another")
						} else {
							mustAcquire(t, rival, "y")
						}

						time.Sleep(ttl)
						if held.Valid() {
							t.Error("the lease outlived its TTL")
						}
						mustAcquire(t, rival, "x")
					})
				})
			}
		}
	}
}

func TestGuard_AcquireWaitsItOut(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		warmUp(t, l)
		c.Wipe(0)
		c.Wipe(1)
		var lease *redlock.Lease
		var err error
		before := c.Requests(0)
		d := took(func() { lease, err = l.Acquire(t.Context(), "x") })
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

func TestGuard_StillExtendsAndReleasesWhatItHolds(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		lease := mustAcquire(t, l, "x")
		synctest.Wait()
		for i := range 3 {
			c.Restart(i)
		}
		time.Sleep(2 * time.Second)
		if err := lease.Extend(t.Context()); err != nil {
			t.Error(err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A node that has forgotten what it held is not told by one lease alone what it may grant.
func TestGuard_RepairWaitsForItsEnd(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		lease := mustAcquire(t, l, "x", redlock.WithAutoExtend(redlock.Extension{}))
		synctest.Wait()
		c.Wipe(2)
		time.Sleep(ttl)
		if c.keys("x") != 2 {
			t.Errorf("during the guard the lease is on %d nodes", c.keys("x"))
		}
		time.Sleep(ttl)
		if c.keys("x") != 3 || !lease.Valid() {
			t.Errorf("after the guard the lease is on %d nodes", c.keys("x"))
		}
	})
}

// A lease survives a rolling restart of all nodes, one at a time, even if each comes back empty.
func TestGuard_RollingRestartCostsNoLease(t *testing.T) {
	for _, n := range []int{3, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			bubble(t, n, func(t *testing.T, c *cluster) {
				l, _ := c.locker()
				lease := mustAcquire(t, l, "x", redlock.WithAutoExtend(redlock.Extension{}))
				for i := range n {
					time.Sleep(ttl)
					c.Kill(i)
					c.Wipe(i)
					time.Sleep(time.Second)
					c.Restart(i)
					time.Sleep(ttl + ttl/2)
				}
				if !lease.Valid() {
					t.Error(lease.Context().Err())
				}
				if got := c.keys("x"); got != n {
					t.Errorf("the lease is on %d nodes", got)
				}
			})
		})
	}
}

// single makes a process whose list is the first node alone.
func (c *cluster) single() *redlock.Locker {
	c.t.Helper()
	l, err := redlock.New(c.Links().Clients()[:1], redlock.WithTTL(ttl))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = l.Close(context.Background()) }) // what it holds runs out
	return l
}

func TestGuard_RefusesListsOfAnotherLength(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		mustAcquire(t, l, "x")
		synctest.Wait()
		single := c.single()
		_, err := single.Acquire(t.Context(), "y") // does not wait
		wantErr(t, err, redlock.ErrConfig)
		wantText(t, err, "a list of 3 nodes", "here are 1")
		time.Sleep(ttl + ttl/4)
		mustAcquire(t, single, "y") // nobody uses the other list any more
		_, err = l.TryAcquire(t.Context(), "z")
		if err != nil {
			t.Errorf("a majority was not asked with the other length: %v", err)
		}
	})
}

// A lease that is extended keeps its list in use, though nothing new is acquired.
func TestGuard_ExtensionsKeepTheListInUse(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		lease := mustAcquire(t, l, "x", redlock.WithAutoExtend(redlock.Extension{}))
		time.Sleep(10 * ttl)
		single := c.single()
		_, err := single.TryAcquire(t.Context(), "y")
		wantErr(t, err, redlock.ErrConfig)
		if !lease.Valid() {
			t.Error("lost")
		}
	})
}

// All wait for the longest lease that anybody may have.
func TestGuard_WaitsForTheLongestLeaseOfThePrefix(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		var mu sync.Mutex
		var told []string
		for i := range 3 {
			c.Restart(i)
		}
		first, _ := c.locker()
		warmGuard(t, first) // for a lease of 10 s
		long, _ := c.locker(redlock.WithMaxTTL(time.Minute))
		_, err := long.TryAcquire(t.Context(), "x")
		wantErr(t, err, redlock.ErrGuarded) // the nodes are younger than a minute
		synctest.Wait()
		time.Sleep(time.Minute)
		mustAcquire(t, long, "x")
		synctest.Wait()

		short, _ := c.locker(redlock.WithHooks(redlock.Hooks{
			NodeError: func(_, op string, err error) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, op+": "+err.Error())
			},
		}))
		mustAcquire(t, short, "y")
		synctest.Wait()
		if text := strings.Join(told, "\n"); len(told) != 3 || !strings.Contains(text, "max ttl: ") ||
			!strings.Contains(text, "1m0s") || !strings.Contains(text, "10s") {
			t.Errorf("told %q", told)
		}
		c.Wipe(0)
		c.Wipe(1)
		_, err = short.TryAcquire(t.Context(), "z")
		wantErr(t, err, redlock.ErrGuarded)
		wantText(t, err, "another 1m0s")
	})
}

func TestGuard_ClockThatIsBehindBeginsItAnew(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		warmUp(t, l)
		c.Offset(0, -10_000*time.Hour) // before it was used for the first time
		_, err := l.TryAcquire(t.Context(), "x")
		wantErr(t, err, redlock.ErrGuarded)
		time.Sleep(ttl)
		mustAcquire(t, l, "x")
	})
}

func TestGuard_HookTellsWhenItBeginsAndEnds(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		var mu sync.Mutex
		var told []time.Duration
		l, _ := c.locker(redlock.WithHooks(redlock.Hooks{
			Guarded: func(node string, left time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				if node != c.Addrs()[2] {
					t.Errorf("guarded: %s", node)
				}
				told = append(told, left)
			},
		}))
		warmUp(t, l)
		c.Wipe(2)
		for range 30 {
			warmUp(t, l)
			time.Sleep(ttl / 20)
		}
		if len(told) != 2 || told[0] != ttl || told[1] != 0 {
			t.Errorf("told %v, want %v and 0", told, ttl)
		}
	})
}

// Where INFO is not permitted, a restart is seen only by the data being gone, and that is said once.
func TestGuard_WithoutInfoRestsOnTheData(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *cluster) {
		var told []string
		c.Deny(0, "INFO")
		l, _ := c.locker(redlock.WithHooks(redlock.Hooks{
			NodeError: func(_, op string, err error) { told = append(told, op+": "+err.Error()) },
		}))
		warmGuard(t, l)
		for range 3 {
			warmUp(t, l)
		}
		c.Restart(0)
		time.Sleep(2 * time.Second)
		warmUp(t, l)
		c.Wipe(0)
		_, err := l.TryAcquire(t.Context(), "x")
		wantErr(t, err, redlock.ErrGuarded)
		said := 0
		for _, text := range told {
			if strings.Contains(text, "INFO is not permitted") {
				said++
			}
		}
		if said != 1 {
			t.Errorf("told %q", told)
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

func TestWithoutRestartGuard_GrantsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := nodetest.Start(3) // never used
		defer nodes.Close()
		l, err := redlock.New(nodes.Links().Clients(), redlock.WithoutRestartGuard())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close(context.Background()) }() // it says that x is still held
		mustAcquire(t, l, "x")
		for _, node := range l.Nodes(t.Context()) {
			if node.Guard != 0 || node.Err != nil {
				t.Errorf("%+v", node)
			}
		}
	})
}
