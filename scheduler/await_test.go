package scheduler_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

func TestTriggerAndWait_ReturnsTheOutcomeOfThatRun(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		bad := errors.New("no paper")
		slow := func(ctx context.Context, run scheduler.Run) error {
			time.Sleep(10 * time.Second)
			if run.Manual {
				return bad
			}
			return nil
		}
		job := a.job("slow", "* * * * *", quick)
		job.Run, job.Overlap = slow, scheduler.Queue
		skips := a.job("skips", "* * * * *", quick)
		skips.Run = slow
		a.add(a.job("quick", "@yearly", quick), job, skips)
		c.SleepTo(time.Minute + time.Second) // the runs of the tick are under way

		began := now()
		r, err := b.TriggerAndWait(t.Context(), "quick")
		if err != nil || r.State != scheduler.StateOK || !r.Manual || r.Tick.Before(began.Add(-time.Second)) {
			t.Errorf("quick: %+v, %v", r, err)
		}
		if r, err = b.TriggerAndWait(t.Context(), "skips"); err != nil || r.State != scheduler.StateSkipped {
			t.Errorf("skips: %+v, %v", r, err)
		}
		r, err = b.TriggerAndWait(t.Context(), "slow") // after the tick's run, which has a different outcome
		if err != nil || r.State != scheduler.StateFailed || r.Err != bad.Error() || r.End.Sub(began) < 15*time.Second {
			t.Errorf("slow: %+v, %v", r, err)
		}
	})
}

// A process adds a job and leads only a moment later.
func TestTriggerAndWait_WaitsForTheJobToBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := redlocktest.New(t, 1).Replica()
		ran := make(chan scheduler.Run, 1)
		err := r.Scheduler.Add(scheduler.Job{Name: "job", Spec: "@yearly", Run: func(_ context.Context, run scheduler.Run) error {
			ran <- run
			return nil
		}})
		want.NoError(t, err)
		r.Run()
		ended, err := r.Scheduler.TriggerAndWait(t.Context(), "job")
		if run := <-ran; err != nil || ended.State != scheduler.StateOK || !ended.Tick.Equal(run.Tick) {
			t.Errorf("%+v, %v; it ran for %+v", ended, err, run)
		}
	})
}

func TestTriggerAndWait_EndsWithItsContextAndSaysWhatIsKnown(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		job := a.job("slow", "@yearly", quick)
		job.Run = func(context.Context, scheduler.Run) error { time.Sleep(time.Minute); return nil }
		a.add(job, a.job("later", "@yearly", quick))
		c.SleepTo(5 * time.Second)
		within := func(d time.Duration, job string) (scheduler.Record, error) {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			return b.TriggerAndWait(ctx, job)
		}
		r, err := within(10*time.Second, "slow")
		want.Err(t, err, context.DeadlineExceeded)
		want.Text(t, err, `the triggered run of "slow" has not ended: it runs on "a"`)
		if r.State != scheduler.StateRunning {
			t.Errorf("%+v", r)
		}
		a.links.Cut()
		time.Sleep(2 * time.Minute)
		if r, err = within(10*time.Second, "later"); r.State != "" {
			t.Errorf("%+v", r)
		}
		want.Text(t, err, "no leader has started it")
		if _, err = within(time.Second, "nowhere"); !errors.Is(err, scheduler.ErrUnknownJob) {
			t.Error(err)
		}
	})
}

func TestUnknownJob_TellsATypoFromAJobThatNobodyHasStored(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		b := c.idle("b")
		b.add(b.job("nightly", "@yearly", quick))
		err := b.Trigger(t.Context(), "nightly")
		want.Err(t, err, scheduler.ErrUnknownJob)
		want.Text(t, err, `it is added here, and no leader has stored it yet; this process cannot lead, as its Elector.Run is not running`)
		a := c.leader("a")
		a.add(a.job("nightly report", "@yearly", quick), a.job("invoices", "@yearly", quick))
		want.Text(t, a.Trigger(t.Context(), "invoices"), "this process leads, and stores it within moments")
		c.SleepTo(10 * time.Second)
		_, err = a.Status(t.Context(), "nigthly report")
		want.Text(t, err, `unknown job: "nigthly report": did you mean "nightly report"?`)
		_, err = a.History(t.Context(), "zzz", 1)
		want.Text(t, err, "the nodes know 8 jobs, and none with a name like that")
	})
}

func TestUnknownJob_OfAnElectionWithoutJobsSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := redlocktest.New(t, 1).Replica()
		want.Text(t, r.Scheduler.Pause(t.Context(), "nightly"), `unknown job: "nightly": the nodes know no job of the election "test"`)
	})
}

func TestPause_HasAReasonThatIsShownAndKept(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "* * * * *", quick))
		c.SleepTo(5 * time.Second)
		if s := b.status("job"); s.Pause != (scheduler.Change{}) {
			t.Errorf("not paused: %+v", s.Pause)
		}
		why := "moving the ledger, 50 %, until 12:00"
		c.must(b.Pause(t.Context(), "job", scheduler.By("ann"), scheduler.Because(why)))
		c.SleepTo(3 * time.Minute)
		s := b.status("job")
		if s.Reason != `paused by "ann" on "b": `+why {
			t.Errorf("the reason of its ticks is %q", s.Reason)
		}
		if p := s.Pause; p.Reason != why || p.By != "ann" || p.From != "b" || p.What != "pause" || p.At.IsZero() {
			t.Errorf("%+v", p)
		}
		if kept, err := b.Changes(t.Context(), "job"); err != nil || len(kept) != 1 || kept[0] != s.Pause {
			t.Errorf("%+v, %v", kept, err)
		}
		for _, bad := range []string{"", "a\nb"} {
			want.Err(t, b.Pause(t.Context(), "job", scheduler.Because(bad)), scheduler.ErrName)
		}
	})
}

// Runs of a job with Allow do not wait for each other, so one may wait for another.
func TestTriggerAndWait_FromARunThatAllowsOthers(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		answers, called := make(chan error, 1), new(atomic.Bool)
		j := a.job("job", "@yearly", nil)
		j.Overlap = scheduler.Allow
		j.Run = func(ctx context.Context, _ scheduler.Run) error {
			if called.CompareAndSwap(false, true) {
				_, err := a.TriggerAndWait(ctx, "job")
				answers <- err
			}
			return nil
		}
		a.add(j)
		time.Sleep(10 * time.Second)
		c.must(a.Trigger(t.Context(), "job"))
		time.Sleep(time.Minute)
		synctest.Wait()
		select {
		case err := <-answers:
			want.NoError(t, err)
		default:
			t.Error("it waits")
		}
	})
}
