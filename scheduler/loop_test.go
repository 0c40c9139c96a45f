package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/race"
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

func TestTick_DoesNotRunWithoutATerm(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		c.leader("leader without jobs")
		idle, follower := c.idle("idle"), c.replica("follower")
		idle.add(idle.job("job", "* * * * * *", quick))
		follower.add(follower.job("job", "* * * * * *", quick))
		c.SleepTo(time.Minute)
		wantEqual(t, "ran", c.ran(), nil)
	})
}

func TestTick_EveryFiveMinutesIs72RunsInSixHours(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		c.ttl = 10 * time.Minute
		r := c.leader("a")
		r.add(r.job("job", "*/5 * * * *", quick))
		c.SleepTo(6 * time.Hour)
		runs := c.records()
		if len(runs) != 72 {
			t.Fatalf("%d runs, want 72", len(runs))
		}
		for n, run := range runs {
			tick := c.Start.Add(time.Duration(n+1) * 5 * time.Minute)
			if !run.Tick.Equal(tick) || !run.start.Equal(tick) {
				t.Errorf("run %d for %v at %v", n, c.at(run.Tick), c.at(run.start))
			}
		}
	})
}

func TestTick_ThousandJobsStartAtOneInstant(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		r := c.leader("a")
		jobs := race.Scale(200, 1000)
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
	inBubble(t, 3, func(t *testing.T, c *cluster) {
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
		a.stop()
		<-a.ended
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
		a.stop()
		<-a.ended
		run := c.records()[0]
		want.Err(t, run.cause, election.ErrStopped)
		if got := c.At(run.end); got != 12*time.Second+drainTimeout+time.Second {
			t.Errorf("the run ended after %v", got)
		}
	})
}

// The nodes do not answer for a while, but not long enough to end the term.
func TestLoop_RunsOnlyTheNewestTickWhenLate(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		r := c.leader("a")
		r.add(r.job("job", "18,19,21-27 * * * * *", quick))
		c.SleepTo(20500 * time.Millisecond)
		r.links.Hang()
		c.SleepTo(25500 * time.Millisecond)
		r.links.Heal()
		c.SleepTo(29 * time.Second)
		runs := c.records()
		if len(runs) < 4 {
			t.Fatalf("ran %q", c.ran())
		}
		next := runs[2] // the newest that had come when the write was retried
		if late := next.start.Sub(next.Tick); late >= time.Second || next.start.Before(c.Start.Add(25500*time.Millisecond)) {
			t.Errorf("ran %q", c.ran())
		}
		late := r.logged(zapcore.WarnLevel, "ticks missed")
		if len(late) != 1 {
			t.Fatalf("logged %v, want one warning", late)
		}
		missed := int64(next.Tick.Sub(c.Start.Add(21*time.Second)) / time.Second)
		if fields := late[0].ContextMap(); fields["job"] != "job" || fields["ticks"] != missed {
			t.Errorf("logged %v, want %d ticks", fields, missed)
		}
	})
}
