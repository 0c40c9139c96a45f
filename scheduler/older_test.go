package scheduler_test

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// The end of a run is stored on nodes 0 and 1, and node 1 restarts with older data.
func TestOlder_AnEndThatOneNodeLostIsShown(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		addBoth(a, b, "0 * * * * *", lasting(20*time.Second))
		c.SleepTo(70 * time.Second)
		file := c.Snapshot(1)
		a.links.Cut(2)
		c.SleepTo(81 * time.Second)
		if s, err := b.Status(t.Context(), "job"); err != nil || s.Running || s.Last.State != scheduler.StateOK {
			t.Errorf("before: %+v, %v", s, err)
		}
		a.links.Cut() // a dies
		c.RestartFrom(1, file)
		c.SleepTo(82 * time.Second)
		if s, err := b.Status(t.Context(), "job"); err != nil || s.Running || s.Last.State != scheduler.StateOK {
			t.Errorf("after: running %v, last %+v, %v", s.Running, s.Last, err)
		}
		if all, err := b.Jobs(t.Context()); err != nil {
			t.Errorf("after: %+v, %v", all, err)
		}
	})
}
