package scheduler_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

func TestTick_RunsOnceAndOnTimeOnTheLeader(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		var all []*replica
		for _, id := range []string{"a", "b", "c"} {
			r := c.replica(id)
			r.add(r.job("job", "*/10 * * * * *", quick))
			all = append(all, r)
		}
		time.Sleep(time.Second)
		i := slices.IndexFunc(all, func(r *replica) bool { return r.elector.IsLeader() })
		if i < 0 {
			t.Fatal("nobody leads")
		}
		token := all[i].leads().Token()
		c.SleepTo(2*time.Minute + time.Second)

		runs := c.records()
		if len(runs) != 12 {
			t.Errorf("%d runs, want 12", len(runs))
		}
		for n, run := range runs {
			tick := c.Start.Add(time.Duration(n+1) * 10 * time.Second)
			if run.by != all[i].id || run.Run != (scheduler.Run{Job: "job", Tick: tick.UTC(), Token: token, Attempt: 1}) {
				t.Errorf("%s ran %+v, want %s to run %v in term %d", run.by, run.Run, all[i].id, tick, token)
			}
			if !run.start.Equal(tick) {
				t.Errorf("tick %v started at %v", c.at(tick), c.at(run.start))
			}
		}
	})
}

func TestTick_ThousandJobsStartAtOneInstant(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		r := c.leader("a")
		jobs := *thousand
		for n := range jobs {
			r.add(r.job(fmt.Sprint("job ", n), "*/10 * * * * *", lasting(5*time.Second)))
		}
		c.SleepTo(25 * time.Second)
		keys := map[string]bool{}
		for _, run := range c.records() {
			keys[run.Key()] = true
			if !run.start.Equal(run.Tick) {
				t.Errorf("%s started at %v", run.Key(), c.at(run.start))
			}
		}
		if runs := c.records(); len(runs) != 2*jobs || len(keys) != 2*jobs {
			t.Errorf("%d runs for %d ticks, want %d", len(runs), len(keys), 2*jobs)
		}
	})
}

func TestStop_LetsRunsFinishAndHandsOver(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		queued := a.job("queued", "*/10 * * * * *", lasting(16*time.Second))
		queued.Overlap = scheduler.Queue
		replaced := a.job("replaced", "*/10 * * * * *", lasting(16*time.Second))
		replaced.Overlap = scheduler.Replace
		a.add(queued, replaced, a.job("quick", "* * * * * *", quick))
		b := c.replica("b")
		b.add(b.job("quick", "* * * * * *", quick))

		c.SleepTo(18500 * time.Millisecond)
		a.stop()
		second := b.leads()
		if got := c.At(second.Since()); got < 26*time.Second || got > 27*time.Second {
			t.Errorf("b led at %v, a's runs ended at 26s", got)
		}
		c.SleepTo(30 * time.Second)
		for _, run := range c.records() {
			late := c.At(run.start) > 18*time.Second
			if late != (run.by == "b") {
				t.Errorf("%s started %s at %v", run.by, run.Key(), c.at(run.start))
			}
			if run.by == "a" && (run.cause != nil || run.end.IsZero()) {
				t.Errorf("%s of a ended at %v by %v", run.Key(), c.at(run.end), run.cause)
			}
		}
		if runs := c.records(); runs[len(runs)-1].by != "b" {
			t.Errorf("b ran nothing")
		}
	})
}

// A tick waits for a run when the leader is asked to stop. The leader does not start it when the run returns. It was not opened,
// so the next leader runs it.
func TestStop_LeavesWhatWaitsToTheNextLeader(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		job := a.job("job", "*/10 * * * * *", lasting(15*time.Second))
		job.Overlap = scheduler.Queue
		a.add(job)
		c.SleepTo(22 * time.Second)
		a.leaves()
		wantEqual(t, "ran", c.ran(), []string{"job 10s@10s"})
		if got := c.at(now()); got != "25s" {
			t.Errorf("Elector.Run returned at %v, the job's run at 25s", got)
		}
	})
}
