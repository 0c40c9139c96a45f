package scheduler_test

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// The end of a run is stored on nodes 0 and 1, and node 1 restarts with older data.
func TestOlder_AnEndThatOneNodeLostIsShown(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		for _, r := range []*replica{a, b} {
			r.add(r.job("job", "0 * * * * *", lasting(20*time.Second)))
		}
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

// One node has an older state of a job than its leader has written.
func TestOlder_AJobInUseIsNotForgotten(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "@hourly", quick))
		c.SleepTo(30 * time.Second)
		if err := b.Pause(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		c.SleepTo(40 * time.Second)
		file := c.Snapshot(1)
		a.links.Cut(2)
		c.Restart(1) // the leader takes a new ballot and writes the job under it
		c.SleepTo(60 * time.Second)
		if err := b.Forget(t.Context(), "job"); err == nil {
			t.Error("the job was forgotten before the restart")
		}
		c.RestartFrom(1, file)
		a.links.Heal(2)
		if err := b.Forget(t.Context(), "job"); err == nil {
			t.Error("Forget of a job that the leader has returns nil")
		}
		c.SleepTo(80 * time.Second)
	})
}
