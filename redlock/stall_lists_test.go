package redlock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// gone returns ids of processes that no longer exist.
func gone(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("GONE%08d", i))
	}
	return names
}

// A line may be corrupt, or full of processes that no longer exist: a new one still waits in it.
func TestAcquire_WhereTheLineIsDamaged(t *testing.T) {
	lines := records.DamagedLines()
	lines["full"] = ""
	for what, text := range lines {
		t.Run(what, func(t *testing.T) {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				holder, _ := c.Locker()
				next := newWaiter(c)
				lease := takenOnAll(t, holder, "x")
				if what == "full" {
					records.Default.Waiting(t, "x", time.Hour, gone(1000), c.Raw()...)
				} else {
					records.Default.WriteLine(t, "x", text, c.Raw()...)
				}
				next.begins(t.Context(), "x")()
				synctest.Wait()
				next.hasItSoonAfter(t, lease, 2*soon) // the nodes try some of the list, and the others a little later
			})
		})
	}
}

// A process that waits for longer than old records are kept, because the hold is extended, stays listed, even if many
// records are removed.
func TestAcquire_StaysListedForLongerThanTheRetention(t *testing.T) {
	const retention = 10 * time.Minute
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		holder, _ := c.Locker()
		removing, _ := c.Locker(redlock.WithFenceRetention(retention))
		next := newWaiter(c)
		lease := takenOnAll(t, holder, "x", redlock.WithAutoExtend(redlock.Extension{}))
		listed(t, c, "x", next.begins(t.Context(), "x"))
		time.Sleep(retention + time.Minute)
		for range 4 * redlock.SweepAfter {
			acquireAndRelease(t, removing, "another")
		}
		for _, i := range holder.Order("x")[:2] {
			if who, err := records.Default.WaitingOn(t.Context(), "x", c.Raw()[i]); err != nil || len(who) != 1 {
				t.Errorf("node %d lists %q (%v), want one who waits", i, who, err)
			}
		}
		next.hasItSoonAfter(t, lease, soon)
	})
}

// A node that comes and goes may have published a release that was missed. A caller that gives a head start asks again
// after it, and does not start it again each time.
func TestAcquire_WithAHeadStartBesideANodeThatComesAndGoes(t *testing.T) {
	const headStart, often = 500 * time.Millisecond, 200 * time.Millisecond
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		holder, _ := c.Locker()
		w := newWaiter(c)
		lease := takenOnAll(t, holder, "x")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		listed(t, c, "x", w.begins(ctx, "x", redlock.WithHeadStart(headStart)))
		last := holder.Order("x")[2]
		flapping, stop := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		ended.Go(func() {
			for flapping.Err() == nil {
				w.links.Cut(last)
				time.Sleep(5 * time.Millisecond)
				w.links.Heal(last)
				time.Sleep(often)
			}
		})
		time.Sleep(2 * often)
		w.hasItSoonAfter(t, lease, 3*headStart)
		stop()
		ended.Wait()
	})
}

// A process that no longer waits leaves the line. Close waits only a moment for that: the Locker leaves no record on an
// unreachable node.
func TestClose_DoesNotWaitToLeaveTheLine(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		const away = 5 * time.Millisecond
		holder, _ := c.Locker()
		w := newWaiter(c)
		lease := takenOnAll(t, holder, "x", redlock.WithAutoExtend(redlock.Extension{}))
		ctx, cancel := context.WithCancel(t.Context())
		listed(t, c, "x", w.begins(ctx, "x", redlock.WithHeadStart(time.Second)))
		w.links.Delay(away)
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(away + time.Millisecond/10) // notified, but has not asked yet
		cancel()
		want.Err(t, <-w.ended, context.Canceled)
		w.links.Cut(0, 1, 2) // whichever node has notified it
		closing, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := w.locker.Close(closing); err != nil {
			t.Errorf("it has left nothing on any node: %v", err)
		}
		if closing.Err() != nil {
			t.Error("Close waited as long as it may")
		}
	})
}
