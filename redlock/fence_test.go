package redlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// From the first grant of a name on: the nodes' clocks differ, the counters that start from them do not.
func TestFence_CountsInOneRoundTrip(t *testing.T) {
	bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
		for i := range 5 {
			c.Offset(i, time.Duration(i)*time.Millisecond)
		}
		time.Sleep(ttl / 8) // away from where the rounding has its steps
		l, _ := c.Locker()
		warmUp(t, l)
		last := uint64(0)
		for range 10 {
			before := c.Requests(0)
			token := acquireAndRelease(t, l, "x")
			if last > 0 && token != last+1 {
				t.Errorf("token %d after %d", token, last)
			}
			if asked := c.Requests(0) - before; asked != 2 {
				t.Errorf("%d requests for an acquisition and a release", asked)
			}
			last = token
		}
	})
}

func TestFence_ExpiresSevenDaysAfterTheLastGrant(t *testing.T) {
	bubble.Run(t, 1, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		last := acquireAndRelease(t, l, "x")
		const week = 7 * 24 * time.Hour
		left := func() time.Duration { return records.Default.NumberLeft(t, "x", c.Raw()[0]) }
		if left() != week {
			t.Errorf("the counter lasts %v", left())
		}
		time.Sleep(week + time.Second)
		if left() > 0 {
			t.Error("the counter is still there")
		}
		if token := acquireAndRelease(t, l, "x"); token <= last {
			t.Errorf("token %d after %d", token, last)
		}
	})
}

// Without a raise, a majority that was ahead would hand out a larger token than the one after it.
func TestFence_TokensIncreaseOverUnevenNodes(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		ahead := mustAcquire(t, l, "y").Token() + 1_000_000
		records.Default.SetNumber(t, "x", ahead, c.Raw()[0])
		last := uint64(0)
		for i := range 9 {
			c.Heal()
			time.Sleep(time.Second) // what the hung node was asked is settled
			c.Hang(i % 3)
			token := acquireAndRelease(t, l, "x")
			if token <= last {
				t.Errorf("token %d after %d", token, last)
			}
			last = token
		}
		if last <= ahead || last > ahead+9 {
			t.Errorf("after 9 grants the token is %d, from %d: it was not counted", last, ahead)
		}
	})
}

func TestFence_IsRaisedByAnExtensionWhereItIsBehind(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, process := c.Locker()
		warmUp(t, l)
		process.Cut(2)
		for range 4 {
			acquireAndRelease(t, l, "x")
		}
		process.Heal()
		time.Sleep(time.Second) // go-redis dials again once a second
		lease := mustAcquire(t, l, "x")
		synctest.Wait()
		if err := lease.Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := records.Default.Number(t, "x", c.Raw()[2]); got != lease.Token() {
			t.Errorf("node 2 counts %d, want the token, %d", got, lease.Token())
		}
	})
}

// A node that was too late for the deciding majority has counted further.
func TestFence_HolderReportsTheTokenWhereANodeIsAhead(t *testing.T) {
	for ahead := range 3 {
		bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
			l, _ := c.Locker()
			lease := mustAcquire(t, l, "x")
			synctest.Wait() // the slowest node has it too
			records.Default.SetNumber(t, "x", lease.Token()+1000, c.Raw()[ahead])
			h, err := l.Holder(t.Context(), "x")
			if err != nil || h.Token != lease.Token() {
				t.Errorf("node %d ahead: %+v, %v: want token %d", ahead, h, err, lease.Token())
			}
		})
	}
}

// A raise that takes so long that nothing of the lease is left.
func TestFence_DeadlineIsCheckedAfterTheRaise(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, process := c.Locker(redlock.WithTTL(300*time.Millisecond), redlock.WithDrift(0.2),
			redlock.WithNodeTimeout(99*time.Millisecond))
		warmUp(t, l)
		acquireAndRelease(t, l, "x")
		for i, number := range []uint64{9e15, 8e15} {
			records.Default.SetNumber(t, "x", number, c.Raw()[i])
		}
		process.Delay(24 * time.Millisecond) // 48 ms a round trip: one is in time, two are not
		_, err := l.TryAcquire(t.Context(), "x", redlock.WithLeaseTTL(100*time.Millisecond))
		want.Err(t, err, redlock.ErrExpired)
		time.Sleep(time.Second)
		if on(c, "x") != 0 {
			t.Errorf("%d keys are left", on(c, "x"))
		}
	})
}
