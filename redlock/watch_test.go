package redlock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/redlock"
)

// A Watch whose context has not ended returns when Close starts, and does not ask the nodes without a pause while Close
// waits for something else.
func TestWatch_EndsWhenCloseBegins(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		c.Delay(time.Millisecond)
		holder, _ := c.Locker()
		warmUp(t, holder)
		mustAcquire(t, holder, "x")
		l, process := c.Locker()
		warmUp(t, l)
		left := mustAcquire(t, l, "y")
		synctest.Wait()
		var watching sync.WaitGroup
		watching.Go(func() {
			if err := l.Watch(t.Context(), "x", func(redlock.Holder) {}); !errors.Is(err, redlock.ErrClosed) {
				t.Errorf("got %v, want %v", err, redlock.ErrClosed)
			}
		})
		time.Sleep(time.Second)
		process.Hang(2)
		_ = left.Release(t.Context()) // node 2 must be asked again and again
		before := c.Asked()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_ = l.Close(ctx)
		watching.Wait()
		if asked := c.Asked() - before; asked > 50 {
			t.Errorf("%d requests while Close waited", asked)
		}
		process.Heal()
		time.Sleep(time.Minute) // the requests to node 2 end
	})
}

// The nodes publish the release, so there is no need to poll.
func TestWatch_OfALockWithoutEndDoesNotPoll(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		records.Default.Put(t, "x", records.SomebodyElse, 0, c.Raw()...)
		l, _ := c.Locker()
		warmUp(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		var reported []redlock.Holder
		watching.Go(func() {
			_ = l.Watch(ctx, "x", func(h redlock.Holder) { reported = append(reported, h) })
		})
		time.Sleep(time.Second)
		before := c.Asked()
		time.Sleep(time.Hour)
		if asked := c.Asked() - before; asked > 0 {
			t.Errorf("%d requests in an hour", asked)
		}
		cancel()
		watching.Wait()
		if len(reported) != 1 || reported[0].Value != records.Text(records.SomebodyElse) {
			t.Errorf("reported %+v", reported)
		}
	})
}
