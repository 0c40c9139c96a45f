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

// Counters agree from the first grant of a name on, although the clocks from which they start differ.
func TestFence_CountsInOneRoundTrip(t *testing.T) {
	bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
		for i := range 5 {
			c.Offset(i, time.Duration(i)*time.Millisecond)
		}
		time.Sleep(ttl / 8) // away from a rounding step
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

// Records of names that are used only once do not pile up: grants of other names remove some with each sweep.
func TestFence_IsKeptForTheRetention(t *testing.T) {
	bubble.Run(t, 1, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		node := c.Raw()[0]
		last := acquireAndRelease(t, l, "x")
		use := func() {
			for range 10 * redlock.SweepAfter {
				acquireAndRelease(t, l, "y")
			}
		}
		time.Sleep(time.Hour - time.Second)
		use()
		if !records.Default.HasNumber(t, "x", node) {
			t.Error("the number was forgotten before its time")
		}
		time.Sleep(2 * time.Second)
		use()
		if records.Default.HasNumber(t, "x", node) {
			t.Error("the number is still there")
		}
		if token := acquireAndRelease(t, l, "x"); token <= last {
			t.Errorf("token %d after %d", token, last)
		}
	})
}

// A client with a shorter retention must not drop numbers of longer leases, whose seed is rounded down by more.
func TestFence_IsKeptForTheLongestLeaseThatIsKnown(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		long, _ := c.Locker()
		short, _ := c.Locker(redlock.WithMaxTTL(ttl), redlock.WithFenceRetention(ttl+time.Second))
		last := uint64(0)
		for range 3 {
			last = acquireAndRelease(t, long, "x")
		}
		time.Sleep(ttl + 2*time.Second)
		for range 3 * redlock.SweepAfter {
			acquireAndRelease(t, short, "y")
		}
		if next := acquireAndRelease(t, long, "x"); next <= last {
			t.Errorf("token %d after %d", next, last)
		}
	}, redlock.WithMaxTTL(time.Hour))
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
			time.Sleep(time.Second) // the requests to the hung node have ended
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
		l, _ := c.Locker()
		warmUp(t, l)
		lease := mustAcquire(t, l, "x")
		synctest.Wait()
		records.Default.SetNumber(t, "x", lease.Token()-3, c.Raw()[2])
		if err := lease.Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := records.Default.Number(t, "x", c.Raw()[2]); got != lease.Token() {
			t.Errorf("node 2 counts %d, want the token, %d", got, lease.Token())
		}
	})
}

// A node that answered too late for the deciding majority has a larger number.
func TestFence_HolderReportsTheTokenWhereANodeIsAhead(t *testing.T) {
	for ahead := range 3 {
		bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
			l, _ := c.Locker()
			lease := mustAcquire(t, l, "x")
			synctest.Wait() // the slowest node has granted, too
			records.Default.SetNumber(t, "x", lease.Token()+1000, c.Raw()[ahead])
			h, err := l.Holder(t.Context(), "x")
			if err != nil || h.Token != lease.Token() {
				t.Errorf("node %d ahead: %+v, %v: want token %d", ahead, h, err, lease.Token())
			}
		})
	}
}

// An observer that compares tokens must not mistake a holder of eight days for a new one.
func TestFence_LastsAsLongAsTheLease(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		lease := mustAcquire(t, l, "x")
		for range 8 * 2 {
			time.Sleep(12 * time.Hour)
			if err := lease.Extend(t.Context()); err != nil {
				t.Fatal(err)
			}
			for range 2 * redlock.SweepAfter {
				acquireAndRelease(t, l, "y") // sweeps old records
			}
		}
		h, err := l.Holder(t.Context(), "x")
		if err != nil || h.Token != lease.Token() || !lease.Valid() {
			t.Errorf("after eight days %+v, %v, want token %d", h, err, lease.Token())
		}
	}, redlock.WithTTL(24*time.Hour), redlock.WithFenceRetention(25*time.Hour))
}

// Numbers start from clocks. One that a single node has far ahead is not taken over, and none is counted past the end.
func TestFence_OfTheFutureIsNotBelieved(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		warmUp(t, l)
		const future = 1<<53 - 1 // where counting ends
		records.Default.SetNumber(t, "x", future, c.Raw()[0])
		if token := acquireAndRelease(t, l, "x"); token >= future {
			t.Errorf("token %d of one node that counts %d", token, future)
		}
		records.Default.SetNumber(t, "x", future, c.Raw()[1])
		_, err := l.TryAcquire(t.Context(), "x")
		want.Err(t, err, redlock.ErrNoQuorum)
		want.Text(t, err, "is too large to count on")
		synctest.Wait()
		for i := range 2 {
			if got := records.Default.Number(t, "x", c.Raw()[i]); got != future {
				t.Errorf("node %d has counted on to %d", i, got)
			}
		}
	})
}

// A raise may take so long that nothing is left of the lease.
func TestFence_DeadlineIsCheckedAfterTheRaise(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, process := c.Locker(redlock.WithTTL(300*time.Millisecond),
			redlock.WithNodeTimeout(99*time.Millisecond))
		warmUp(t, l)
		lead := acquireAndRelease(t, l, "x") + 1000
		for i, number := range []uint64{lead + 1000, lead} {
			records.Default.SetNumber(t, "x", number, c.Raw()[i])
		}
		process.Delay(24500 * time.Microsecond) // 49 ms a round trip: one is in time, two are not
		_, err := l.TryAcquire(t.Context(), "x", redlock.WithLeaseTTL(100*time.Millisecond))
		want.Err(t, err, redlock.ErrExpired)
		time.Sleep(time.Second)
		if on(c, "x") != 0 {
			t.Errorf("%d keys are left", on(c, "x"))
		}
	})
}
