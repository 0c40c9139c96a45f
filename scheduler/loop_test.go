package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
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

func TestTick_RunsOnceThroughTheLossOfALeader(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		work := func(ctx context.Context, _ int) error { // first as long as a tick, and then longer
			select {
			case <-time.After(9 * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		a.add(a.job("job", "*/10 * * * * *", work))
		token := a.leads().Token()
		c.SleepTo(41 * time.Second)
		b := c.replica("b")
		b.add(b.job("job", "*/10 * * * * *", work))
		c.SleepTo(43 * time.Second)
		a.links.Cut()
		second := b.leads()
		c.SleepTo(2*time.Minute + 5*time.Second)

		seen := map[string]bool{}
		by := map[string][]record{}
		for _, run := range c.records() {
			if seen[run.Key()] {
				t.Errorf("%s ran twice", run.Key())
			}
			seen[run.Key()] = true
			by[run.by] = append(by[run.by], run)
		}
		for _, run := range by["a"] {
			if run.Token != token || run.end.IsZero() {
				t.Errorf("run %+v of a's term %d", run, token)
			}
		}
		last := by["a"][len(by["a"])-1]
		want.Err(t, last.cause, election.ErrLost)
		if gap := second.Since().Sub(last.end); gap < margin {
			t.Errorf("b led %v after a's run ended, want at least %v", gap, margin)
		}
		for i, run := range by["b"] {
			if run.Token != second.Token() || run.Token <= token {
				t.Errorf("run %+v of b's term %d after %d", run, second.Token(), token)
			}
			if i > 0 && run.Tick.Sub(by["b"][i-1].Tick) != 10*time.Second {
				t.Errorf("b ran %v after %v", c.at(run.Tick), c.at(by["b"][i-1].Tick))
			}
		}
		if got := c.at(by["b"][len(by["b"])-1].Tick); got != "2m0s" {
			t.Errorf("b's last tick was %v", got)
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

func TestStop_CancelsRunsWhenTheTimeToDrainIsOver(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "*/10 * * * * *", untilDone(time.Second)))
		c.SleepTo(12 * time.Second)
		a.leaves()
		run := c.records()[0]
		want.Err(t, run.cause, election.ErrStopped)
		if got := c.At(run.end); got != 12*time.Second+drainTimeout+time.Second {
			t.Errorf("the run ended after %v", got)
		}
	})
}
