package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// addOnce adds a job with one tick, at the given time since the bubble began, to the replicas.
func (c *cluster) addOnce(at time.Duration, replicas ...*replica) {
	for _, r := range replicas {
		r.add(r.job("job", "@at "+c.Start.Add(at).Format(time.RFC3339), quick))
	}
}

// wantSettled compares what became of the job's only tick.
func (r *replica) wantSettled(runs int, state scheduler.State, missed int) {
	r.c.T.Helper()
	s := r.status("job")
	if got := r.states("job")["1h0m0s"]; got != state || len(r.c.records()) != runs || s.Missed != missed || !s.Next.IsZero() || s.Removed {
		r.c.T.Errorf("%q, want %q; ran %v, want %d; %d are missed, want %d; next %v", got, state, r.c.ran(), runs, s.Missed, missed, s.Next)
	}
}

// Later leaders have the spec too: those that were there, and those of a deploy that comes after the tick.
func TestAt_TicksOnceOverAllLeaders(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		c.addOnce(time.Hour, a, b)
		c.SleepTo(30 * time.Minute)
		if next := a.status("job").Next; c.at(next) != "1h0m0s" {
			t.Errorf("the next tick is %v", next)
		}
		a.leaves()
		b.takesOver()
		c.SleepTo(2 * time.Hour)
		b.wantSettled(1, scheduler.StateOK, 0)
		b.leaves()
		d := c.idle("d")
		c.addOnce(time.Hour, d)
		d.takesOver()
		c.SleepTo(4 * time.Hour)
		d.wantSettled(1, scheduler.StateOK, 0)
		if ran := c.ran(); ran[0] != "job 1h0m0s@1h0m0s" {
			t.Errorf("ran %v", ran)
		}
		c.must(d.Remove("job"))
		time.Sleep(time.Second)
		if s := d.status("job"); !s.Removed {
			t.Errorf("it was removed, and the status is %+v", s)
		}
	})
}

// Nobody leads when the tick comes. The next leader is a deploy with the same spec, within the catch-up window or after it.
func TestAt_IsCaughtUpWithOrMissed(t *testing.T) {
	for back, test := range map[time.Duration]struct {
		runs, missed int
		state        scheduler.State
	}{
		90 * time.Minute:  {1, 0, scheduler.StateOK},
		125 * time.Minute: {0, 1, scheduler.StateMissed},
	} {
		t.Run(back.String(), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.leader("a")
				c.addOnce(time.Hour, a)
				c.SleepTo(30 * time.Minute)
				a.leaves()
				c.SleepTo(back)
				b := c.idle("b")
				c.addOnce(time.Hour, b)
				b.takesOver()
				c.SleepTo(back + time.Minute)
				b.wantSettled(test.runs, test.state, test.missed)
				b.leaves()
				d := c.idle("d")
				c.addOnce(time.Hour, d)
				d.takesOver()
				c.SleepTo(back + 2*time.Hour)
				d.wantSettled(test.runs, test.state, test.missed)
			})
		})
	}
}

// The nodes have never seen the job before its tick has passed: it has none, which is no error.
func TestAt_OfTheFirstDeployMayHavePassed(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		c.addOnce(-time.Minute, a)
		c.SleepTo(2 * time.Hour)
		a.wantSettled(0, "", 0)
		if err := a.Trigger(context.Background(), "job"); err != nil {
			t.Error(err)
		}
		c.SleepTo(2*time.Hour + time.Minute)
		if ran := c.records(); len(ran) != 1 || !ran[0].Manual {
			t.Errorf("ran %v", c.ran())
		}
	})
}
