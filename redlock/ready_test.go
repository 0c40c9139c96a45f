package redlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// The nodes are new, and one of them is down as soon as they are a list. Ready waits out their guard, and a lock is granted at once afterwards.
func TestReady_WaitsForAMajority(t *testing.T) {
	bubble.RunFresh(t, 3, func(t *testing.T, c *bubble.Cluster) {
		first, _ := c.Locker()
		_, err := first.TryAcquire(t.Context(), "x") // makes the list: all nodes must be heard once
		want.Err(t, err, redlock.ErrGuarded)
		l, links := c.Locker()
		c.Kill(2)
		ready := func(d time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			return l.Ready(ctx)
		}
		err = ready(time.Second)
		want.Err(t, err, redlock.ErrGuarded, context.DeadlineExceeded)
		want.Text(t, err, "redlock: not ready: ", "0 of 3 nodes, 2 needed", "it grants nothing for another 10s")
		if took := bubble.Took(func() { want.NoError(t, ready(time.Minute)) }); took > l.Settings().MaxTTL {
			t.Errorf("ready after %v more", took)
		}
		mustAcquire(t, l, "x")
		links.Cut(0)
		err = ready(time.Second)
		want.Err(t, err, redlock.ErrNoQuorum)
		want.Text(t, err, "of 3 nodes, 2 needed", "7001: not sent", "connection refused")
	})
}
