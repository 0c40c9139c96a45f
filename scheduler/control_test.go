package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

func (r *replica) status(job string) scheduler.Status {
	r.c.T.Helper()
	all, err := r.Jobs(r.c.T.Context())
	if err != nil {
		r.c.T.Fatal(err)
	}
	for _, s := range all {
		if s.Job == job {
			return s
		}
	}
	r.c.T.Fatalf("no job %q in %v", job, all)
	return scheduler.Status{}
}

func TestTrigger_RunsAtOnceOnTheLeader(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.replica("b")
		for _, r := range []*replica{a, b} {
			r.add(r.job("job", "@hourly", quick))
		}
		// The leader polls at 10 s and at 13.3 s.
		c.SleepTo(12 * time.Second)
		for range 3 { // triggers before the run starts make one run
			if err := b.Trigger(t.Context(), "job"); err != nil {
				t.Fatal(err)
			}
		}
		c.SleepTo(12050 * time.Millisecond)
		runs := c.records()
		if len(runs) == 0 || len(runs) > 3 {
			t.Fatalf("%d runs", len(runs))
		}
		if run := runs[0]; run.by != "a" || !run.Manual || run.CaughtUp || c.at(run.Tick.Truncate(time.Second)) != "12s" {
			t.Errorf("ran %+v", run)
		}
		n := len(runs)
		c.SleepTo(time.Minute)
		if got := len(c.records()); got != n {
			t.Errorf("%d runs more", got-n)
		}
		history, err := b.History(t.Context(), "job", 10)
		history = slices.DeleteFunc(history, func(r scheduler.Record) bool { return r.State == scheduler.StateSkipped })
		if err != nil || len(history) != n || history[0].State != scheduler.StateOK || history[0].Replica != "a" ||
			!history[0].Manual || history[0].Key() != runs[n-1].Key() {
			t.Errorf("history %+v, %v", history, err)
		}
	})
}

func TestTrigger_WithoutALeaderWaitsForTheNext(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.idle("a")
		a.add(a.job("job", "@hourly", quick))
		c.SleepTo(10 * time.Second)
		if err := a.Trigger(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		c.SleepTo(20 * time.Second)
		a.campaign()
		a.leads()
		c.SleepTo(21 * time.Second)
		if runs := c.records(); len(runs) != 1 || !runs[0].Manual {
			t.Errorf("ran %v", runs)
		}
	})
}

func TestTrigger_IgnoresAPauseAndObeysOverlap(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "@hourly", lasting(10*time.Second)))
		if err := a.Pause(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := a.Trigger(t.Context(), "job"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		c.SleepTo(time.Minute)
		if runs := c.records(); len(runs) != 1 {
			t.Errorf("ran %v", c.ran())
		}
		history, err := a.History(t.Context(), "job", 10)
		if err != nil || len(history) != 2 || history[1].State != scheduler.StateSkipped ||
			history[1].Err != "a run was under way" {
			t.Errorf("history %+v, %v", history, err)
		}
	})
}

func TestPause_HoldsOverLeadersAndRestartsOfNodes(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		for _, r := range []*replica{a, b} {
			r.add(r.job("job", "*/10 * * * * *", quick))
		}
		c.SleepTo(12 * time.Second)
		if err := b.Pause(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		b.campaign()
		for node := range 3 { // one after the other, each with its data
			time.Sleep(3 * ttl)
			c.Restart(node)
		}
		time.Sleep(3 * ttl)
		a.stop()
		<-a.ended
		b.leads()
		time.Sleep(time.Minute)
		wantEqual(t, "ran", c.ran(), []string{"job 10s@10s"})
		s := a.status("job")
		if !s.Paused || s.Reason != `paused by somebody on "b"` || !s.Next.IsZero() || s.Leader != "b" || s.ReasonTick.IsZero() {
			t.Errorf("status %+v", s)
		}

		c.SleepTo(302 * time.Second)
		if err := a.Resume(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		c.SleepTo(321 * time.Second)
		wantEqual(t, "ran", c.ran(), []string{"job 10s@10s", "job 5m10s@5m10s", "job 5m20s@5m20s"})
		if s := a.status("job"); s.Paused || s.Reason != "" || c.at(s.Next) != "5m30s" || s.Last.State != scheduler.StateOK {
			t.Errorf("status %+v", s)
		}
	})
}

func TestControl_RefusesWhatNobodyKnows(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		r := c.leader("a")
		time.Sleep(time.Second)
		for what, call := range map[string]func(context.Context, string) error{
			"trigger": r.Trigger, "pause": r.Pause, "resume": r.Resume,
			"history": func(ctx context.Context, job string) error { _, err := r.History(ctx, job, 1); return err },
		} {
			err := call(t.Context(), "nobody's")
			want.Err(t, err, scheduler.ErrUnknownJob)
			want.Text(t, err, `"nobody's"`)
			for _, bad := range []string{"", strings.Repeat("x", 201), "a\nb"} {
				if err := call(t.Context(), bad); !errors.Is(err, scheduler.ErrName) {
					t.Errorf("%s of %.10q: %v", what, bad, err)
				}
			}
		}
		if _, err := r.History(t.Context(), "job", 0); err == nil {
			t.Error("a history of no records was accepted")
		}
		r.links.Cut(0, 1)
		for _, err := range []error{
			r.Trigger(t.Context(), "job"), r.Pause(t.Context(), "job"),
			func() error { _, err := r.Jobs(t.Context()); return err }(),
		} {
			want.Err(t, err, redlock.ErrNoQuorum)
		}
	})
}

func TestStatus_SaysWhyATickDidNotRun(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "*/10 * * * * *", lasting(25*time.Second)), a.job("other", "0 30 * * * *", quick))
		c.SleepTo(21 * time.Second)
		s := a.status("job")
		if s.Reason != "a run was under way" || c.at(s.ReasonTick) != "20s" || !s.Running || c.at(s.Next) != "30s" ||
			s.Spec != "*/10 * * * * *" || s.Zone != "UTC" || s.Leader != "a" {
			t.Errorf("status %+v", s)
		}
		c.SleepTo(41 * time.Second)
		a.stop()
		<-a.ended
		c.SleepTo(95 * time.Second)
		s = a.status("job")
		if s.Reason != "nobody leads" || c.at(s.ReasonTick) != "1m30s" || s.Leader != "" {
			t.Errorf("without a leader: %+v", s)
		}
		if s := a.status("other"); s.Reason != "" || c.at(s.Next) != "30m0s" || s.Last.ID != "" {
			t.Errorf("a job that had no tick: %+v", s)
		}
	})
}

// Only two nodes answer: one has not stored the pause, the other has lost the jobs. The leader knows the pause.
func TestPause_IsNotForgottenByTheLeader(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "@every 10s", quick))
		b.status("job")
		c.SleepTo(15 * time.Second)
		b.links.Cut(0)
		if err := b.Pause(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		c.SleepTo(25 * time.Second)
		b.links.Heal()
		c.Kill(1)
		c.Node(2).Del("{redlock}:jobs:x")
		c.SleepTo(50 * time.Second)
		for range 3 {
			_ = b.Trigger(t.Context(), "job")
			time.Sleep(5 * time.Second)
		}
		c.SleepTo(90 * time.Second)
		for _, run := range c.records() {
			if !run.Manual && c.At(run.Tick) > 15*time.Second {
				t.Errorf("ran %v, paused at 15s", c.ran())
				break
			}
		}
	})
}

func TestTrigger_IsMissedAfterAnHour(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		a := c.idle("a")
		a.add(a.job("job", "@yearly", quick))
		c.SleepTo(10 * time.Second)
		if err := a.Trigger(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		c.SleepTo(62 * time.Minute)
		a.campaign()
		a.leads()
		time.Sleep(time.Second)
		wantEqual(t, "ran", c.ran(), nil)
		history, err := a.History(t.Context(), "job", 10)
		if err != nil || len(history) != 1 || history[0].State != scheduler.StateMissed || !history[0].Manual {
			t.Errorf("history %+v, %v", history, err)
		}
	})
}

// The nodes refuse the leader's subscription, so it gets no notices.
func TestTrigger_WhereNodesCannotPublish(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		c.Deny(0, "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE")
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "@yearly", quick))
		c.SleepTo(time.Minute)
		if err := b.Trigger(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		c.SleepTo(time.Minute + ttl/2)
		if runs := c.records(); len(runs) != 1 || !runs[0].Manual {
			t.Errorf("ran %v", c.ran())
		}
	})
}

func TestForget_IsRefusedWhileTheLeaderHasTheJob(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "*/10 * * * * *", quick))
		c.SleepTo(12 * time.Second)
		want.Err(t, b.Forget(t.Context(), "job"), scheduler.ErrJobInUse)
		c.SleepTo(22 * time.Second)
		wantEqual(t, "ran", c.ran(), []string{"job 10s@10s", "job 20s@20s"})
		if err := a.Remove("job"); err != nil {
			t.Fatal(err)
		}
		c.SleepTo(25 * time.Second)
		if err := b.Forget(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		_, err := b.Status(t.Context(), "job")
		want.Err(t, err, scheduler.ErrUnknownJob)
	})
}

func TestStatus_ARunByHandDoesNotHideTheReasonOfATick(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		job := a.job("job", "0 * * * * *", func(_ context.Context, call int) error {
			if call == 1 {
				time.Sleep(70 * time.Second)
			}
			return nil
		})
		a.add(job)
		c.SleepTo(135 * time.Second)
		if err := a.Trigger(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		c.SleepTo(140 * time.Second)
		if s := a.status("job"); !s.Last.Manual || s.Reason != "a run was under way" || c.at(s.ReasonTick) != "2m0s" {
			t.Errorf("status %+v", s)
		}
		c.SleepTo(185 * time.Second) // a tick has run by now
		if err := a.Trigger(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		c.SleepTo(190 * time.Second)
		if s := a.status("job"); !s.Last.Manual || s.Reason != "" || !s.ReasonTick.IsZero() {
			t.Errorf("status %+v", s)
		}
	})
}

func TestStatus_ARemovedJobHasNoNextTick(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "0 * * * * *", quick))
		c.SleepTo(62 * time.Second)
		if err := a.Remove("job"); err != nil {
			t.Fatal(err)
		}
		c.SleepTo(130 * time.Second)
		if s := b.status("job"); !s.Next.IsZero() || s.Reason != "" || c.at(s.Last.Tick) != "1m0s" {
			t.Errorf("status %+v", s)
		}
	})
}

// More ticks are skipped than the history keeps rows.
func TestStatus_ARunUnderWayIsNotHiddenBySkippedTicks(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "* * * * * *", func(_ context.Context, call int) error {
			if call == 2 {
				time.Sleep(100500 * time.Millisecond)
			}
			return nil
		}))
		c.SleepTo(90500 * time.Millisecond)
		s := a.status("job")
		if !s.Running || c.at(s.Last.Tick) != "2s" || c.at(s.LastOK.Tick) != "1s" || c.at(s.ReasonTick) != "1m30s" {
			t.Errorf("status %+v", s)
		}
		c.SleepTo(102700 * time.Millisecond) // the run has returned
		if s := a.status("job"); s.Running || c.at(s.Last.Tick) != "2s" || s.Last.State != scheduler.StateOK {
			t.Errorf("status %+v", s)
		}
	})
}
