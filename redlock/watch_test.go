package redlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
)

// What watches a lock ends when Close starts, and does not ask the nodes without a pause while Close
// waits for something else.
func TestOnHolder_EndsWhenCloseBegins(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		c.Delay(time.Millisecond)
		holder, _ := c.Locker()
		warmUp(t, holder)
		mustAcquire(t, holder, "x")
		l, process := c.Locker()
		warmUp(t, l)
		left := mustAcquire(t, l, "y")
		synctest.Wait()
		inside.Of(l).OnHolder("x", func(inside.Holder) {})
		time.Sleep(time.Second)
		process.Hang(2)
		_ = left.Release(t.Context()) // node 2 must be asked again and again
		before := c.Asked()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_ = l.Close(ctx)
		if asked := c.Asked() - before; asked > 50 {
			t.Errorf("%d requests while Close waited", asked)
		}
		process.Heal()
		time.Sleep(time.Minute) // the requests to node 2 end
	})
}

// The nodes publish the release, so there is no need to poll.
func TestOnHolder_OfALockWithoutEndDoesNotPoll(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		records.Default.Put(t, "x", records.SomebodyElse, 0, c.Raw()...)
		l, _ := c.Locker()
		warmUp(t, l)
		var reported []inside.Holder
		stop := inside.Of(l).OnHolder("x", func(h inside.Holder) { reported = append(reported, h) })
		time.Sleep(time.Second)
		before := c.Asked()
		time.Sleep(time.Hour)
		if asked := c.Asked() - before; asked > 3*120 { // two a minute, which show that the subscription works
			t.Errorf("%d requests in an hour", asked)
		}
		stop()
		synctest.Wait()
		if len(reported) != 1 || reported[0].Value != records.Text(records.SomebodyElse) {
			t.Errorf("reported %+v", reported)
		}
	})
}
