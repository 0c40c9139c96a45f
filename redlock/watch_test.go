package redlock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
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
