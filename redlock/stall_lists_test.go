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

// gone returns names of processes that are no more.
func gone(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("GONE%08d", i))
	}
	return names
}

// A list may be as long as it gets, of processes that are no more: who comes later is listed all the same.
func TestAcquire_WhereTheListIsFullOfProcessesThatAreGone(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		holder, _ := c.Locker()
		next := newWaiter(c)
		lease := takenOnAll(t, holder, "x")
		records.Default.Waiting(t, "x", 0, gone(1000), c.Raw()...)
		next.begins(t.Context(), "x")()
		synctest.Wait()
		next.hasItSoonAfter(t, lease, 2*soon) // the nodes look at some, and at the others a little later
	})
}

// What a node keeps of those who wait may be damaged: who comes later is listed all the same.
func TestAcquire_WhereTheListIsDamaged(t *testing.T) {
	for what, text := range records.DamagedLists() {
		t.Run(what, func(t *testing.T) {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				holder, _ := c.Locker()
				next := newWaiter(c)
				lease := takenOnAll(t, holder, "x")
				records.Default.WriteList(t, "x", text, c.Raw()...)
				next.begins(t.Context(), "x")()
				synctest.Wait()
				next.hasItSoonAfter(t, lease, soon)
			})
		})
	}
}

// Who waits for a hold that is extended for longer than old records are kept stays listed, also where many are removed.
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

// The clocks of the nodes that have told of a release may be set back then: those who are told and hang are passed over all
// the same.
func TestAcquire_BehindProcessesThatHangWhereClocksAreSetBack(t *testing.T) {
	bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
		holder, _ := c.Locker()
		first, second, third, next := newWaiter(c), newWaiter(c), newWaiter(c), newWaiter(c)
		lease := takenOnAll(t, holder, "x")
		hang := []*waiter{first, second, third}
		listed(t, c, "x", first.begins(t.Context(), "x"), second.begins(t.Context(), "x"), third.begins(t.Context(), "x"),
			next.begins(t.Context(), "x"))
		for _, w := range hang {
			w.links.Hang()
		}
		time.AfterFunc(time.Millisecond, func() {
			for _, i := range holder.Order("x")[:2] {
				c.Jump(i, -3*time.Second)
			}
		})
		next.hasItSoonAfter(t, lease, soon)
	})
}

// A node whose clock was set back seems to have told the first one later than now. Nobody goes behind that one: it was told
// long ago.
func TestAcquire_AgainWhereTheFirstOneWasToldLaterThanNow(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		busy, _ := c.Locker()
		other := newWaiter(c)
		lease := takenOnAll(t, busy, "x")
		ctx, giveUp := context.WithCancel(t.Context())
		listed(t, c, "x", other.begins(ctx, "x"))
		time.AfterFunc(time.Millisecond, giveUp)
		other.links.Hang()
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		want.Err(t, <-other.ended, context.Canceled)
		synctest.Wait()
		records.Default.Told(t, "x", -time.Minute, gone(100), c.Raw()...)
		began := time.Now()
		if _, err := busy.Acquire(t.Context(), "x"); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > soon {
			t.Errorf("had the free lock after %v, want at most %v", took, soon)
		}
	})
}

// A node that comes and goes may have told of a release meanwhile. Who yields asks again for that, and does not begin to
// yield anew each time.
func TestAcquire_ThatYieldsBesideANodeThatComesAndGoes(t *testing.T) {
	const yield, often = 500 * time.Millisecond, 200 * time.Millisecond
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		holder, _ := c.Locker()
		w := newWaiter(c)
		lease := takenOnAll(t, holder, "x")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		listed(t, c, "x", w.begins(ctx, "x", redlock.WithYield(yield)))
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
		w.hasItSoonAfter(t, lease, 3*yield)
		stop()
		ended.Wait()
	})
}

// Whoever was told of a release and waits no more has the next one told, which Close waits for a moment at most: nothing of
// the Locker is left on a node that is away.
func TestClose_DoesNotWaitToHaveTheNextOneTold(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		const away = 5 * time.Millisecond
		holder, _ := c.Locker()
		w := newWaiter(c)
		lease := takenOnAll(t, holder, "x", redlock.WithAutoExtend(redlock.Extension{}))
		ctx, cancel := context.WithCancel(t.Context())
		listed(t, c, "x", w.begins(ctx, "x", redlock.WithYield(time.Second)))
		w.links.Delay(away)
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(away + time.Millisecond/10) // it was told, and is yet to ask
		cancel()
		want.Err(t, <-w.ended, context.Canceled)
		w.links.Cut(holder.Order("x")[0])
		closing, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := w.locker.Close(closing); err != nil {
			t.Errorf("it has left nothing on any node: %v", err)
		}
	})
}
