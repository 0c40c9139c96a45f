package redlock_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// newSubscribed makes a process that has waited before, so it has subscribed.
func newSubscribed(t *testing.T, c *bubble.Cluster, holder *redlock.Locker) *waiter {
	t.Helper()
	w := newWaiter(c)
	lease := takenOnAll(t, holder, "earlier")
	listed(t, c, "earlier", w.begins(t.Context(), "earlier"))
	w.hasItSoonAfter(t, lease, soon)
	synctest.Wait() // the release has reached all nodes: cut off before, the holder would repeat it later
	return w
}

// A waiter may ask the nodes that keep the line before the holder's request reaches them. They grant the lock to it, so
// they do not list it. What removes its grants puts it in line, and it gets the lock as soon as it is released.
func TestAcquire_IsListedThoughItsNodesGrantedTheLock(t *testing.T) {
	for _, late := range []time.Duration{0, 5 * time.Millisecond} {
		t.Run(fmt.Sprint("after ", late), func(t *testing.T) {
			bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
				holder, links := c.Locker()
				next := newSubscribed(t, c, holder)
				first := holder.Order("x")[:2]
				links.Cut(first...)
				lease := mustAcquire(t, holder, "x")
				time.Sleep(time.Second) // the calls to these nodes have ended
				links.Heal()
				next.links.Delay(late, first...)
				before := c.Requests(first[0])
				next.begins(t.Context(), "x")()
				time.Sleep(time.Second)
				synctest.Wait()
				if n := c.Requests(first[0]) - before; n > 8 { // three attempts, what removes their grants, and looks
					t.Errorf("%d requests to a node that does not list it", n)
				}
				next.hasItSoonAfter(t, lease, soon)
			})
		})
	}
}

// The nodes that should list a waiter may fail. It is listed on others then.
func TestAcquire_IsListedThoughItsNodesFail(t *testing.T) {
	for how, fail := range map[string]func(*nodetest.Links, ...int){"hang": (*nodetest.Links).Hang, "are cut": (*nodetest.Links).Cut} {
		t.Run(how, func(t *testing.T) {
			bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
				holder, _ := c.Locker()
				next := newSubscribed(t, c, holder)
				lease := takenOnAll(t, holder, "x")
				fail(next.links, holder.Order("x")[:2]...)
				next.begins(t.Context(), "x")()
				time.Sleep(time.Second)
				synctest.Wait()
				next.hasItSoonAfter(t, lease, soon)
			})
		})
	}
}

// A process may wait in short calls, one after the other. A call that ends leaves the line, but not in the next one's place.
func TestAcquire_TheNextCallOfAProcessKeepsItsPlace(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		bubble.Run(t, nodes, func(t *testing.T, c *bubble.Cluster) {
			holder, _ := c.Locker()
			next := newWaiter(c)
			lease := takenOnAll(t, holder, "x")
			for range 5 {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				_, err := next.locker.Acquire(ctx, "x")
				want.Err(t, err, context.DeadlineExceeded)
				cancel()
			}
			next.begins(t.Context(), "x")()
			time.Sleep(time.Second)
			next.hasItSoonAfter(t, lease, soon)
		})
	}
}

// A waiter that heard of a failed attempt does not take the hold that the next attempt of the same call has won for one
// that is about to end: it would ask for as long as that lasts.
func TestAcquire_AFailedAttemptIsNotTheHoldAfterIt(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		holder, _ := c.Locker()
		first, second := newWaiter(c), newWaiter(c)
		lease := takenOnAll(t, holder, "x")
		ctx, cancel := context.WithCancel(t.Context())
		listed(t, c, "x", first.begins(ctx, "x"), second.begins(ctx, "x"))
		time.Sleep(time.Second)
		first.links.DropReplies(holder.Order("x")[1:]...)
		time.AfterFunc(time.Millisecond, func() { first.links.Heal() })
		want.NoError(t, lease.Release(t.Context()))
		time.Sleep(2 * time.Second)
		before, most := c.Asked(), 6 // the winner extends its lease, once or never
		if records.Default.On(t, "x", c.Raw()...) < 3 {
			most = 6 * 4 // a node that lacks the hold may be the first to know of its end: all are asked at most twice a second
		}
		time.Sleep(3 * time.Second)
		if n := c.Asked() - before; n > most {
			t.Errorf("%d requests in three seconds of a hold, want at most %d", n, most)
		}
		cancel()
	})
}

// Those who give others a head start do not stand in the way of the next one in line.
func TestAcquire_AHeadStartLeavesTheLine(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		holder, _ := c.Locker()
		lease := mustAcquire(t, holder, "x", redlock.WithAutoExtend(redlock.Extension{}))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 6 {
			newWaiter(c).begins(ctx, "x", redlock.WithHeadStart(5*time.Second))()
			time.Sleep(5100 * time.Millisecond)
		}
		next := newWaiter(c)
		next.begins(ctx, "x")()
		time.Sleep(time.Second)
		next.hasItSoonAfter(t, lease, 20*time.Millisecond)
	})
}
