package redlock_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// A node that is not fit to hold a lock has no vote, and its error says why.
func TestNodes_ThatAreUnfitHaveNoVote(t *testing.T) {
	for name, of := range map[string]struct {
		make func(c *bubble.Cluster, i int)
		why  string
	}{
		"replica": {func(c *bubble.Cluster, i int) { c.SetInfo(i, "role", "slave") }, "it is a replica"},
		"old":     {func(c *bubble.Cluster, i int) { c.SetInfo(i, "redis_version", "5.0.14") }, "its version is 5.0.14"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				of.make(c, 0)
				l, process := c.Locker()
				reported := reportsOf(l, redlock.NodeProblem)
				lease := mustAcquire(t, l, "x")
				synctest.Wait()
				if on(c, "x") != 2 {
					t.Errorf("the lease is on %d nodes", on(c, "x"))
				}
				if err := lease.Release(t.Context()); err != nil {
					t.Error(err)
				}
				errs := 0
				for _, s := range l.Nodes(t.Context()) {
					if s.Err != nil {
						errs++
						want.Text(t, s.Err, of.why)
					}
				}
				if errs != 1 {
					t.Errorf("%d nodes are unfit: %+v", errs, l.Nodes(t.Context()))
				}
				if all := reported(); len(all) != 1 || all[0].Op != "inspect" || !strings.Contains(all[0].Err.Error(), of.why) {
					t.Errorf("reported %+v, want it once", all)
				}
				process.Hang(1)
				_, err := l.TryAcquire(t.Context(), "y")
				want.Text(t, err, of.why)
			})
		})
	}
}

// Only a person can upgrade a server, so nobody waits for that.
func TestAcquire_DoesNotWaitForServersToBeUpgraded(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		c.SetInfo(0, "redis_version", "6.0.16")
		c.SetInfo(1, "redis_version", "6.0.16")
		l, _ := c.Locker()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := l.Acquire(ctx, "x")
		want.Err(t, err, redlock.ErrNoQuorum)
		want.Text(t, err, "its version is 6.0.16, it must be 6.2 or later")
		want.NoError(t, ctx.Err())
	})
}

// An eviction costs availability, but no lease is lost unnoticed: the guard is evicted with the records.
func TestNodes_MayEvict(t *testing.T) {
	for policy, tells := range map[string]int{
		"volatile-lru": 0, "volatile-ttl": 0, "volatile-lrm": 0, // Redis 8.6 has -lrm
		"allkeys-lru": 1, "allkeys-random": 1, "allkeys-lrm": 1, "eviction": 1, // Dragonfly has "eviction"
	} {
		bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
			c.SetInfo(0, "maxmemory", "1000000")
			c.SetInfo(0, "maxmemory_policy", policy)
			l, _ := c.Locker()
			reported := reportsOf(l, redlock.NodeProblem)
			mustAcquire(t, l, "x")
			all, s := reported(), l.Nodes(t.Context())[0]
			if s.Err != nil || s.Eviction != policy || on(c, "x") != 3 || len(all) != tells {
				t.Errorf("%s: on %d nodes, reported %+v, %+v", policy, on(c, "x"), all, s)
			}
			for _, e := range all {
				want.Text(t, e.Err, "maxmemory-policy is "+policy, "no lock is granted twice")
			}
		})
	}
}

func TestNodes_TellHowTheyAre(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		c.Delay(2*time.Millisecond, 0)
		c.Offset(1, 300*time.Millisecond)
		c.SetInfo(2, "maxmemory_policy", "allkeys-lru") // without maxmemory it evicts nothing
		c.SetInfo(0, "redis_version", "7.2.4")          // with which a Valkey says that it is compatible
		c.SetInfo(0, "valkey_version", "9.1.2")
		l, process := c.Locker()
		warmUp(t, l)
		synctest.Wait()
		process.Cut(2)
		all := l.Nodes(t.Context())
		for i, s := range all {
			if s.Addr != c.Addrs()[i] || s.Role != "master" || s.Version != []string{"9.1.2", "7.0.15", "7.0.15"}[i] ||
				s.Eviction != "noeviction" {
				t.Errorf("%+v", s)
			}
			if (s.Err != nil) != (i == 2) {
				t.Errorf("%+v", s)
			}
		}
		if all[0].Latency != 4*time.Millisecond {
			t.Errorf("latency %v", all[0].Latency)
		}
		if off := all[1].ClockOffset; off < 290*time.Millisecond || off > 310*time.Millisecond {
			t.Errorf("clock offset %v", off)
		}
		c.SetInfo(0, "role", "slave") // since it was inspected
		if s := l.Nodes(t.Context())[0]; s.Role != "slave" || s.Err == nil {
			t.Errorf("now it is a replica: %+v", s)
		}
	})
}

// A node is inspected again after it was unreachable, because it may have changed.
func TestNodes_AreInspectedAgainAfterTheyWereAway(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		warmUp(t, l)
		c.SetInfo(0, "role", "slave")
		c.Restart(0)
		time.Sleep(2 * time.Second)
		for range 2 {
			warmUp(t, l)
			synctest.Wait()
		}
		if s := l.Nodes(t.Context())[0]; s.Err == nil || s.Role != "slave" {
			t.Errorf("%+v", s)
		}
		c.SetInfo(0, "role", "")
		time.Sleep(ttl)
		lease := mustAcquire(t, l, "x")
		synctest.Wait()
		if on(c, "x") != 3 {
			t.Errorf("when it is a master again, the lease is on %d nodes", on(c, "x"))
		}
		if !lease.Valid() {
			t.Error("lost")
		}
	})
}
