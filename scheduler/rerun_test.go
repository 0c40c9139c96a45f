package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/scheduler"
)

// at returns an instant after the start of the cluster.
func (c *cluster) instant(after time.Duration) time.Time { return c.Start.Add(after) }

// A tick that failed, and one that was missed, run again under their own keys, on whatever replica leads, and no mark moves.
func TestRerun(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		fail := true
		work := func(context.Context, int) error {
			if fail {
				return errBoom
			}
			return nil
		}
		addBoth(a, b, "0 1-5 0 * * *", work, func(job *scheduler.Job) { job.CatchUp = scheduler.CatchUpNone() })
		c.SleepTo(70 * time.Second)
		a.leaves()
		c.SleepTo(150 * time.Second)
		b.takesOver()
		fail = false
		c.SleepTo(160 * time.Second)
		missed := b.status("job").Missed
		for _, tick := range []time.Duration{time.Minute, 2 * time.Minute} {
			r, err := a.RerunAndWait(t.Context(), "job", c.instant(tick), scheduler.By("ann"))
			if err != nil || r.State != scheduler.StateOK || !r.Tick.Equal(c.instant(tick)) || !r.Rerun || !r.Manual || r.Attempt != 2 {
				t.Errorf("%v: %+v, %v", tick, r, err)
			}
		}
		c.SleepTo(190 * time.Second)
		runs := c.records()
		if len(runs) != 4 || runs[1].Key() != runs[0].Key() || runs[1].by != "b" || runs[3].Rerun || !runs[3].Tick.Equal(c.instant(3*time.Minute)) {
			t.Errorf("ran %+v", runs)
		}
		if s := b.status("job"); s.Missed != missed || !s.Last.Tick.Equal(c.instant(3*time.Minute)) {
			t.Errorf("status %+v", s)
		}
		kept, err := b.Changes(t.Context(), "job")
		if err != nil || len(kept) != 2 || kept[0].What != "rerun" || !kept[0].Tick.Equal(c.instant(2*time.Minute)) || kept[0].By != "ann" {
			t.Errorf("kept are %+v, %v", kept, err)
		}
		again, err := b.RerunAndWait(t.Context(), "job", c.instant(2*time.Minute)) // once more
		if err != nil || again.State != scheduler.StateOK || len(c.records()) != 5 {
			t.Errorf("%+v, %v, %d runs", again, err, len(c.records()))
		}
	})
}

// Requests make one run while it has not ended. A change of the leader repeats none, and loses none.
func TestRerun_RunsOnceWhoeverLeads(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "0 1 0 * * *", lasting(5*time.Second)))
		b.add(b.job("job", "0 1 0 * * *", lasting(5*time.Second)))
		c.SleepTo(2 * time.Minute)
		a.leaves()
		c.must(b.Rerun(t.Context(), "job", c.instant(time.Minute)))
		c.SleepTo(150 * time.Second)
		b.takesOver()
		c.SleepTo(152 * time.Second)
		c.must(b.Rerun(t.Context(), "job", c.instant(time.Minute)))
		c.SleepTo(3 * time.Minute)
		if n := len(c.records()); n != 2 {
			t.Errorf("%d runs: %+v", n, c.records())
		}
		b.leaves()
		a.takesOver()
		c.SleepTo(10 * time.Minute)
		if n := len(c.records()); n != 2 {
			t.Errorf("%d runs, after another leader has taken over", n)
		}
	})
}

func TestRerun_IsRefused(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "0 1 0 * * *", lasting(time.Hour)))
		c.SleepTo(2 * time.Minute)
		rerun := func(at time.Time) error { return a.Rerun(t.Context(), "job", at) }
		err := rerun(c.instant(30 * time.Second))
		want.Err(t, err, scheduler.ErrNotTick)
		want.Text(t, err, "is 2000-01-02T00:01:00Z")
		want.Err(t, rerun(c.instant(-400*24*time.Hour+time.Minute)), scheduler.ErrNotTick)
		want.Err(t, rerun(c.instant(24*time.Hour+time.Minute)), scheduler.ErrNotSettled)
		want.Err(t, rerun(c.instant(time.Minute)), scheduler.ErrNotSettled)
		want.Err(t, a.Rerun(t.Context(), "nobody's", c.instant(0)), scheduler.ErrUnknownJob)
		want.Err(t, a.Rerun(t.Context(), "a\nb", c.instant(0)), scheduler.ErrName)
		if n := len(c.records()); n != 1 {
			t.Errorf("%d runs: %+v", n, c.records())
		}
	})
}
