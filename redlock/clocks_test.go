package redlock_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestSuspension_DuringAnAcquisitionCountsAgainstIt(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		ticking := clock.New()
		l, process := c.Locker(redlock.WithClock(ticking))
		warmUp(t, l)
		process.Delay(50 * time.Millisecond)
		time.AfterFunc(60*time.Millisecond, func() { ticking.Suspend(ttl) })
		_, err := l.TryAcquire(t.Context(), "x")
		want.Err(t, err, redlock.ErrExpired)
	})
}

func TestSuspension_DuringAnExtensionDoesNotProlong(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		ticking := clock.New()
		l, process := c.Locker(redlock.WithClock(ticking))
		lease := mustAcquire(t, l, "x")
		process.Delay(50 * time.Millisecond)
		time.AfterFunc(60*time.Millisecond, func() { ticking.Suspend(ttl / 2) })
		sent := time.Now()
		if err := lease.Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := lease.Deadline().Sub(sent); got != validFor-ttl/2 {
			t.Errorf("valid for %v from the send, want %v", got, validFor-ttl/2)
		}
	})
}

// The clocks of a virtual machine may not show that it was paused. Then all nodes seem to have jumped forward, and there is
// no telling this from nodes that were stepped alike. Leases that were there before go on.
func TestClockJump_OfAllNodesAlikeCostsVotesButNoOlderLease(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		lease := mustAcquire(t, l, "x", redlock.WithAutoExtend(redlock.Extension{}))
		time.Sleep(time.Millisecond) // the jump comes later
		for i := range 3 {
			c.Offset(i, 4*time.Second) // as seen from this process
		}
		_, _ = l.TryAcquire(t.Context(), "y") // sent with limits from before the pause, so too late
		synctest.Wait()
		_, err := l.TryAcquire(t.Context(), "y")
		want.Err(t, err, redlock.ErrNoQuorum)
		want.Text(t, err, "its clock jumped by 4")
		time.Sleep(2 * ttl)
		if !lease.Valid() {
			t.Error(context.Cause(lease.Context()))
		}
		acquireAndRelease(t, l, "y")
	})
}

func TestClockJump_IsReportedAndCountsAgainAfterMaxTTL(t *testing.T) {
	for name, by := range map[string]time.Duration{"forward": 350 * time.Millisecond, "back": -350 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				l, process := c.Locker()
				reported := reportsOf(l, redlock.NodeStepped)
				time.Sleep(ttl) // or a step back would start the guard again
				warmUp(t, l)
				synctest.Wait()
				c.Offset(1, by)
				process.Hang(2)
				_, _ = l.TryAcquire(t.Context(), "x") // too late by the clock that was stepped forward
				synctest.Wait()
				_, err := l.TryAcquire(t.Context(), "y")
				if status := l.Nodes(t.Context())[1]; (status.Err != nil) != (by > 0) || (status.ClockOffset-by).Abs() > time.Second {
					t.Errorf("%+v", status)
				}
				if by > 0 {
					want.Err(t, err, redlock.ErrNoQuorum)
					want.Text(t, err, "its clock jumped by "+by.String())
				} else if err != nil {
					t.Errorf("set back, which harms nothing: %v", err)
				}
				if all := reported(); len(all) != 1 || all[0].Addr != c.Addrs()[1] || (all[0].Duration-by).Abs() > 5*time.Millisecond {
					t.Errorf("reported %+v, want %v", all, by)
				}
				time.Sleep(ttl)
				mustAcquire(t, l, "z") // a constant offset within the limit
			})
		})
	}
}

// Two nodes that disagree decide nothing, because nobody knows which of them is right. The third decides.
func TestClocksThatDisagree_DoNotDecide(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		c.Offset(1, 5*time.Second)
		l, process := c.Locker()
		synctest.Wait()
		lease := mustAcquire(t, l, "x")
		if err := lease.Extend(t.Context()); err != nil {
			t.Error(err)
		}
		wantSkewed(t, l.Nodes(t.Context()), false, true, false)
		process.Hang(0)
		_, err := l.TryAcquire(t.Context(), "y")
		want.Err(t, err, redlock.ErrNoQuorum)
		want.Text(t, err, "off the others'", "400ms is allowed")
		wantSkewed(t, l.Nodes(t.Context()), false, true, false) // the third agreed with the one that is away
		want.Err(t, lease.Extend(t.Context()), redlock.ErrNoQuorum)
	})
}

// wantSkewed fails the test unless these nodes are said to have a clock that does not agree with the others'.
func wantSkewed(t *testing.T, nodes []redlock.NodeStatus, want ...bool) {
	t.Helper()
	for i, n := range nodes {
		if is := n.Err != nil && strings.Contains(n.Err.Error(), "off the others'"); is != want[i] {
			t.Errorf("node %d: %+v", i, n)
		}
	}
}

func TestClocks_OfOneNodeAreNotJudged(t *testing.T) {
	bubble.Run(t, 1, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		warmUp(t, l)
		c.Offset(0, time.Minute)
		_, err := l.TryAcquire(t.Context(), "x")
		want.Text(t, err, "too late")
		mustAcquire(t, l, "x")
	})
}

// A new process does not know a node's earlier clock, and one that last read it long ago knows it only roughly. If a
// step has shortened a lease, the vote of that node must not help a second lease to a majority.
func TestClockJump_BelowASecondMakesNoSecondLease(t *testing.T) {
	for name, of := range map[string]struct{ polled, step time.Duration }{
		"never":              {0, 600 * time.Millisecond},
		"a minute ago":       {time.Minute, 600 * time.Millisecond},
		"a minute ago, less": {time.Minute, 350 * time.Millisecond},
		"just now":           {time.Second, 350 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				a, processA := c.Locker()
				b, _ := c.Locker()
				if of.polled > 0 {
					warmUp(t, b)
					time.Sleep(of.polled)
				}
				warmUp(t, a)
				processA.Hang(2) // the lease stands on nodes 0 and 1
				lease := mustAcquire(t, a, "x")
				c.Jump(0, of.step)
				for lease.Valid() {
					if _, err := b.TryAcquire(t.Context(), "x"); err == nil {
						t.Fatalf("a second lease %v before the end of the first", time.Until(lease.Deadline()))
					}
					time.Sleep(100 * time.Millisecond)
				}
			})
		})
	}
}

// All clocks are corrected by some milliseconds, within seconds of each other. No lease is harmed, so none is lost.
func TestClockJump_CorrectionsCostNoLease(t *testing.T) {
	for name, by := range map[string][3]time.Duration{
		"back":    {-20 * time.Millisecond, -40 * time.Millisecond, -80 * time.Millisecond},
		"both":    {60 * time.Millisecond, -40 * time.Millisecond, -8 * time.Millisecond},
		"forward": {60 * time.Millisecond, 12 * time.Millisecond, 8 * time.Millisecond},
		"more":    {50 * time.Millisecond, 80 * time.Millisecond, 20 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				l, _ := c.Locker()
				time.Sleep(ttl) // or a step back would start the guard again
				lease := mustAcquire(t, l, "x", redlock.WithAutoExtend(redlock.Extension{}))
				for i, step := range by {
					time.Sleep(time.Second)
					c.Jump(i, step)
				}
				time.Sleep(3 * ttl)
				if !lease.Valid() {
					t.Error(context.Cause(lease.Context()))
				}
			})
		})
	}
}

// After a step forward, a node may have granted a lock too soon. So its yes to an extension counts only if the lease has
// been there since before the step: not if it was granted or repaired there after it.
func TestClockJump_ExtensionsCountWhereTheLeaseIsOlder(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, process := c.Locker()
		older, repaired := mustAcquire(t, l, "older"), mustAcquire(t, l, "repaired")
		time.Sleep(time.Millisecond) // the step comes later
		c.Jump(1, 50*time.Millisecond)
		for _, hash := range c.Node(1).Keys() {
			c.Node(1).HDel(hash, "n:repaired")
		}
		for _, lease := range []*redlock.Lease{older, repaired} {
			if err := lease.Extend(t.Context()); err != nil {
				t.Error(err)
			}
		}
		newer := mustAcquire(t, l, "newer")
		synctest.Wait()
		process.Hang(2)
		if err := older.Extend(t.Context()); err != nil {
			t.Error(err)
		}
		for _, lease := range []*redlock.Lease{repaired, newer} {
			err := lease.Extend(t.Context())
			want.Err(t, err, redlock.ErrNoQuorum)
			want.Text(t, err, "its clock jumped by 50ms")
		}
	})
}

// A stepped clock may have ended another process's lease early, and that lease may be longer than any of our own.
func TestClockJump_CountsAgainAfterTheLongestLeaseThatIsKnown(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		long, _ := c.Locker(redlock.WithMaxTTL(time.Minute))
		warmUp(t, long)
		l, _ := c.Locker()
		warmUp(t, l)
		c.Jump(1, 350*time.Millisecond)
		jumped := func() bool {
			_, _ = l.TryAcquire(t.Context(), "x") // reads the clocks
			synctest.Wait()
			return l.Nodes(t.Context())[1].Err != nil
		}
		for _, after := range []time.Duration{0, ttl + time.Second, time.Minute - ttl - 2*time.Second} {
			time.Sleep(after)
			if !jumped() {
				t.Errorf("another %v later the node counts", after)
			}
		}
		time.Sleep(2 * time.Second)
		if jumped() {
			t.Error("a minute later the node does not count")
		}
	})
}
