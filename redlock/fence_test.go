package redlock_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

// grantAndRelease takes the lock and gives it up.
func grantAndRelease(t *testing.T, l *redlock.Locker, name string) uint64 {
	t.Helper()
	lease := mustAcquire(t, l, name)
	synctest.Wait()
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return lease.Token()
}

func TestFence_CountsInOneRoundTrip(t *testing.T) {
	bubble(t, 5, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		last := grantAndRelease(t, l, "x")
		for range 10 {
			before := c.Requests(0)
			token := grantAndRelease(t, l, "x")
			if token != last+1 {
				t.Errorf("token %d after %d", token, last)
			}
			if asked := c.Requests(0) - before; asked != 2 {
				t.Errorf("%d requests for an acquisition and a release", asked)
			}
			last = token
		}
	})
}

// Also the first grant of a name: the nodes' clocks differ, the counters that start from them do not.
func TestFence_OfANewNameStartsAlikeOnAllNodes(t *testing.T) {
	bubble(t, 5, func(t *testing.T, c *cluster) {
		for i := range 5 {
			c.Offset(i, time.Duration(i)*time.Millisecond)
		}
		time.Sleep(ttl / 8) // away from where the rounding has its steps
		l, _ := c.locker()
		warmUp(t, l)
		synctest.Wait()
		before := c.Requests(0)
		grantAndRelease(t, l, "new")
		if asked := c.Requests(0) - before; asked != 2 {
			t.Errorf("%d requests for an acquisition and a release", asked)
		}
	})
}

func TestFence_IncreasesOverNodesThatForgot(t *testing.T) {
	for name, forget := range map[string]func(c *cluster, i int){
		"flushed":            func(c *cluster, i int) { c.Wipe(i) },
		"with an older file": func(c *cluster, i int) { c.RestartFrom(i, c.before[i]) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, c *cluster) {
				l, _ := c.locker()
				last := grantAndRelease(t, l, "x")
				for i := range 3 {
					c.before = append(c.before, c.Snapshot(i))
				}
				for round := range 4 {
					for range 50 {
						token := grantAndRelease(t, l, "x")
						if token <= last {
							t.Fatalf("round %d: token %d after %d", round, token, last)
						}
						last = token
					}
					for i := range 3 {
						forget(c, i)
					}
					time.Sleep(2 * time.Second)
					warmGuard(t, l)
				}
			})
		})
	}
}

// One node forgets, and is the only one that two majorities have in common.
func TestFence_IncreasesOverTheOneNodeInCommon(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, process := c.locker()
		last := grantAndRelease(t, l, "x")
		old := c.Snapshot(1)
		process.Hang(2)
		for range 20 {
			last = grantAndRelease(t, l, "x") // on nodes 0 and 1
		}
		process.Heal()
		c.RestartFrom(1, old)
		time.Sleep(time.Second)
		warmUp(t, l)
		time.Sleep(ttl)
		process.Hang(0)
		if token := grantAndRelease(t, l, "x"); token <= last { // on nodes 1 and 2
			t.Errorf("token %d after %d", token, last)
		}
	})
}

func TestFence_ExpiresSevenDaysAfterTheLastGrant(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		last := grantAndRelease(t, l, "x")
		const week = 7 * 24 * time.Hour
		if left := c.Node(0).TTL("{redlock}:fence:x"); left != week {
			t.Errorf("the counter lasts %v", left)
		}
		time.Sleep(week + time.Second)
		if c.Node(0).Exists("{redlock}:fence:x") {
			t.Error("the counter is still there")
		}
		if token := grantAndRelease(t, l, "x"); token <= last {
			t.Errorf("token %d after %d", token, last)
		}
	})
}

func TestFence_HolderReportsTheToken(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, _ := c.locker()
		lease := mustAcquire(t, l, "x")
		h, err := l.Holder(t.Context(), "x")
		if err != nil || h.Token != lease.Token() {
			t.Errorf("%+v, %v: want token %d", h, err, lease.Token())
		}
	})
}

// A node that was too late for the deciding majority has counted further.
func TestFence_HolderReportsTheTokenWhereANodeIsAhead(t *testing.T) {
	for ahead := range 3 {
		bubble(t, 3, func(t *testing.T, c *cluster) {
			l, _ := c.locker()
			lease := mustAcquire(t, l, "x")
			synctest.Wait() // the slowest node has it too
			counter, err := c.Node(ahead).Get("{redlock}:fence:x")
			if err != nil {
				t.Fatal(err)
			}
			counter = strings.Replace(counter, fmt.Sprint(lease.Token()), fmt.Sprint(lease.Token()+1000), 1)
			if err := c.Node(ahead).Set("{redlock}:fence:x", counter); err != nil {
				t.Fatal(err)
			}
			h, err := l.Holder(t.Context(), "x")
			if err != nil || h.Token != lease.Token() {
				t.Errorf("node %d ahead: %+v, %v: want token %d", ahead, h, err, lease.Token())
			}
		})
	}
}

// A raise that takes so long that nothing of the lease is left.
func TestFence_DeadlineIsCheckedAfterTheRaise(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		l, process := c.locker(redlock.WithTTL(300*time.Millisecond), redlock.WithDrift(0.2),
			redlock.WithNodeTimeout(99*time.Millisecond))
		warmUp(t, l)
		grantAndRelease(t, l, "x")
		for i, counter := range []string{"1:9000000000000000:0", "1:8000000000000000:0"} {
			if err := c.Node(i).Set("{redlock}:fence:x", counter); err != nil {
				t.Fatal(err)
			}
		}
		process.Delay(24 * time.Millisecond) // 48 ms a round trip: one is in time, two are not
		_, err := l.TryAcquire(t.Context(), "x", redlock.WithLeaseTTL(100*time.Millisecond))
		wantErr(t, err, redlock.ErrExpired)
		time.Sleep(time.Second)
		if c.keys("x") != 0 {
			t.Errorf("%d keys are left", c.keys("x"))
		}
	})
}
