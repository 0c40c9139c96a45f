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

// A Watch whose context goes on ends when Close begins, and does not ask the nodes without a pause for as
// long as Close waits for something else.
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
		_ = left.Release(t.Context()) // node 2 is to be asked again and again
		before := c.Asked()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_ = l.Close(ctx)
		watching.Wait()
		if asked := c.Asked() - before; asked > 50 {
			t.Errorf("%d requests while Close waited", asked)
		}
		process.Heal()
		time.Sleep(time.Minute) // what node 2 was asked ends
	})
}

// The nodes tell of its release, so there is nothing to ask for.
func TestWatch_OfALockWithoutEndDoesNotPoll(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		records.Default.Put(t, "x", records.SomebodyElse, 0, c.Raw()...)
		l, _ := c.Locker()
		warmUp(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		var told []redlock.Holder
		watching.Go(func() {
			_ = l.Watch(ctx, "x", func(h redlock.Holder) { told = append(told, h) })
		})
		time.Sleep(time.Second)
		before := c.Asked()
		time.Sleep(time.Hour)
		if asked := c.Asked() - before; asked > 0 {
			t.Errorf("%d requests in an hour", asked)
		}
		cancel()
		watching.Wait()
		if len(told) != 1 || told[0].Value != records.Text(records.SomebodyElse) {
			t.Errorf("told %+v", told)
		}
	})
}
