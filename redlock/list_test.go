package redlock_test

import (
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
)

// A release makes only a few of many waiters ask, and the one that takes the lock notifies the next. Nobody waits for a
// lease to run out, and each waiter gets the lock once. So it is also if the first node is guarded and grants nothing.
func TestAcquire_OfManyWhoWaitFewAreNotifiedOfARelease(t *testing.T) {
	long(t)
	const many, hold = 20, 30 * time.Millisecond
	for name, of := range map[string]struct {
		nodes, guarded, each int
		pause                time.Duration
	}{
		"all nodes grant":           {5, 0, 19, 10 * time.Millisecond}, // a hold takes a grant and a release on each node, at which each looks once
		"the first node is guarded": {3, 1, 22, 20 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Run(t, of.nodes, func(t *testing.T, c *bubble.Cluster) {
				holder, _ := c.Locker()
				warmUp(t, holder)
				lease := mustAcquire(t, holder, "x")
				var waiting sync.WaitGroup
				for range many {
					l, _ := c.Locker()
					warmUp(t, l)
					waiting.Go(func() { takeTurns(t, l, 1, hold) })
				}
				time.Sleep(time.Second)
				c.Delay(300 * time.Microsecond)
				for _, i := range holder.Order("x")[:of.guarded] {
					c.Wipe(i)
				}
				before, began := c.Asked(), time.Now()
				if err := lease.Release(t.Context()); err != nil {
					t.Error(err)
				}
				waiting.Wait()
				if took := time.Since(began); took > many*(hold+of.pause) {
					t.Errorf("%d holds of %v took %v", many, hold, took)
				}
				if each := (c.Asked() - before) / many; each > of.each {
					t.Errorf("%d requests for each hold, want at most %d", each, of.each)
				}
			})
		})
	}
}

// A process that releases the lock and wants it again at once does not get it before a waiter does.
func TestAcquire_AfterAReleaseGoesBehindThoseWhoWait(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		const hold = 50 * time.Millisecond
		busy, other := newWaiter(c), newWaiter(c)
		other.links.Delay(2 * time.Millisecond) // the waiter is the slower one
		lease := takenOnAll(t, busy.locker, "x")
		for range 10 {
			var waiting sync.WaitGroup
			waiting.Go(func() { takeTurns(t, other.locker, 1, hold) })
			time.Sleep(2 * hold)
			if err := lease.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			released := time.Now()
			next, err := busy.locker.Acquire(t.Context(), "x")
			if took := time.Since(released); err != nil || took < hold {
				t.Fatalf("it had the lock again after %v: %v", took, err)
			}
			lease = next
			waiting.Wait()
		}
	})
}

// A waiter that was notified of a release but lost the lock to another process is notified of the next release, too.
func TestAcquire_WhereAnotherOneTookItIsNotifiedAgain(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		holder, _ := c.Locker()
		lease := takenOnAll(t, holder, "x")
		slow := newWaiter(c)
		slow.links.Delay(5 * time.Millisecond)
		listed(t, c, "x", slow.begins(t.Context(), "x"))
		another, _ := c.Locker()
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		lease = mustAcquire(t, another, "x")
		time.Sleep(time.Second)
		slow.hasItSoonAfter(t, lease, 100*time.Millisecond)
	})
}
