package scheduler_test

import (
	"context"
	"errors"
	"maps"
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
	want.NoError(r.c.T, err)
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
		addBoth(a, b, "@hourly", quick)
		// The leader polls at 10 s and at 13.3 s.
		c.SleepTo(12 * time.Second)
		for range 3 { // triggers before the run starts make one run
			c.must(b.Trigger(t.Context(), "job"))
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

func TestPause_HoldsOverLeadersAndRestartsOfNodes(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		addBoth(a, b, "*/10 * * * * *", quick)
		c.SleepTo(12 * time.Second)
		c.must(b.Pause(t.Context(), "job"))
		b.campaign()
		for node := range 3 { // one after the other, each with its data
			time.Sleep(3 * ttl)
			c.Restart(node)
		}
		time.Sleep(3 * ttl)
		a.leaves()
		b.leads()
		time.Sleep(time.Minute)
		wantEqual(t, "ran", c.ran(), []string{"job 10s@10s"})
		s := a.status("job")
		if !s.Paused || s.Reason != `paused by somebody on "b"` || !s.Next.IsZero() || s.Leader != "b" || s.ReasonTick.IsZero() {
			t.Errorf("status %+v", s)
		}

		c.SleepTo(302 * time.Second)
		c.must(a.Resume(t.Context(), "job"))
		c.SleepTo(321 * time.Second)
		wantEqual(t, "ran", c.ran(), []string{"job 10s@10s", "job 5m10s@5m10s", "job 5m20s@5m20s"})
		if s := a.status("job"); s.Paused || s.Reason != "" || c.at(s.Next) != "5m30s" || s.Last.State != scheduler.StateOK {
			t.Errorf("status %+v", s)
		}
	})
}

// A bad name, and bad words of a person, are refused by each method before any node is asked. A name that nobody knows is refused by
// the nodes.
func TestControl_RefusesBadInput(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		r := c.leader("a")
		time.Sleep(time.Second)
		type options = []scheduler.ChangeOption
		tick := c.Start.Add(time.Minute)
		changes := map[string]func(context.Context, string, ...scheduler.ChangeOption) error{
			"Trigger": r.Trigger, "Pause": r.Pause, "Resume": r.Resume, "Cancel": r.Cancel,
			"TriggerAndWait": func(ctx context.Context, job string, opts ...scheduler.ChangeOption) error {
				_, err := r.TriggerAndWait(ctx, job, opts...)
				return err
			},
			"Rerun": func(ctx context.Context, job string, opts ...scheduler.ChangeOption) error {
				return r.Rerun(ctx, job, tick, opts...)
			},
			"RerunAndWait": func(ctx context.Context, job string, opts ...scheduler.ChangeOption) error {
				_, err := r.RerunAndWait(ctx, job, tick, opts...)
				return err
			},
		}
		reads := map[string]func(context.Context, string) error{
			"Status":  func(ctx context.Context, job string) error { _, err := r.Status(ctx, job); return err },
			"History": func(ctx context.Context, job string) error { _, err := r.History(ctx, job, 1); return err },
			"Forget":  func(ctx context.Context, job string) error { return r.Forget(ctx, job) },
		}
		all := maps.Clone(reads)
		for what, change := range changes {
			all[what] = func(ctx context.Context, job string) error { return change(ctx, job) }
		}
		for what, call := range all {
			err := call(t.Context(), "nobody's")
			if what == "Forget" { // there is nothing to delete
				want.NoError(t, err)
			} else if !errors.Is(err, scheduler.ErrUnknownJob) || !strings.Contains(err.Error(), `"nobody's"`) {
				t.Errorf("%s of a job that nobody knows: %v", what, err)
			}
		}
		r.links.Cut() // what asks a node now fails with another error
		for what, call := range all {
			for _, bad := range []string{"", strings.Repeat("x", 201), "a\nb", " a", "\xff"} {
				if err := call(t.Context(), bad); !errors.Is(err, scheduler.ErrName) {
					t.Errorf("%s of %.10q: %v", what, bad, err)
				}
			}
		}
		changes["PauseAll"] = func(ctx context.Context, _ string, opts ...scheduler.ChangeOption) error {
			return r.PauseAll(ctx, opts...)
		}
		changes["ResumeAll"] = func(ctx context.Context, _ string, opts ...scheduler.ChangeOption) error {
			return r.ResumeAll(ctx, opts...)
		}
		for what, change := range changes {
			for says, opts := range map[string]options{
				`who "a\nb" must not`: {scheduler.By("a\nb")}, "has 201 bytes": {scheduler.Because(strings.Repeat("x", 201))},
				"option 2 of 2 is nil": {scheduler.By("ann"), nil},
			} {
				if err := change(t.Context(), "job", opts...); err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("%s: got %v, want %q", what, err, says)
				}
			}
		}
		want.Err(t, r.Remove("nobody's"), scheduler.ErrUnknownJob)
		_, err := r.History(t.Context(), "job", 0)
		want.Text(t, err, "0")
		for _, err := range []error{
			r.Trigger(t.Context(), "job"), r.Pause(t.Context(), "job"),
			func() error { _, err := r.Jobs(t.Context()); return err }(),
		} {
			want.Err(t, err, redlock.ErrNoQuorum)
		}
	})
}

// The leader says so, on a replica without the job too.
func TestStatus_SaysWhatATickWaitsFor(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, viewer := c.leader("a"), c.idle("viewer")
		job := a.job("job", "*/10 * * * * *", lasting(25*time.Second))
		job.Overlap = scheduler.Queue
		a.add(job)
		c.SleepTo(27 * time.Second)
		if s := viewer.status("job"); s.Reason != "it waits for a run before it" || c.at(s.ReasonTick) != "20s" || s.Unowned ||
			s.Waiting.String() != "waits for a run before it" || c.at(s.Waiting.Tick) != "20s" {
			t.Errorf("status %+v", s)
		}
		c.SleepTo(36 * time.Second)
		if s := viewer.status("job"); s.Reason != "" {
			t.Errorf("after the run: %+v", s)
		}
		a.leaves()
		b := c.replica("b")
		b.add(b.job("other", "@yearly", quick))
		b.leads()
		time.Sleep(5 * time.Minute) // it tells the nodes with its next poll that it has written all of its jobs
		if s := viewer.status("job"); s.Reason != "b leads, and does not have the job" || !s.Unowned {
			t.Errorf("with a leader that does not have it: %+v", s)
		}
		b.add(job)
		time.Sleep(time.Second)
		if s := viewer.status("job"); s.Unowned {
			t.Errorf("with a leader that has it: %+v", s)
		}
	})
}

func TestStatus_SaysUntilWhenSomethingWaits(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		late := a.job("late", "10 0 0 * * *", quick)
		late.Jitter = time.Hour
		again := a.job("again", "10 0 0 * * *", failing)
		again.Retry = scheduler.Retry{Times: 1, Wait: time.Minute}
		a.add(late, again)
		c.SleepTo(20 * time.Second)
		w := a.status("late").Waiting
		if w.What != "for its jitter" || c.at(w.Tick) != "10s" || !w.Until.After(c.Start.Add(20*time.Second)) {
			t.Errorf("%+v", w)
		}
		if w := a.status("again").Waiting; w.What != "for attempt 2" || w.Until.Sub(w.Tick) < time.Minute {
			t.Errorf("%+v", w)
		}
		c.SleepTo(2 * time.Hour)
		for _, job := range []string{"late", "again"} {
			if w := a.status(job).Waiting; w != (scheduler.Waiting{}) {
				t.Errorf("%s: %+v", job, w)
			}
		}
	})
}

// A leader without the job has led in between.
func TestHistory_SaysThatTheLeaderDidNotHaveTheJob(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "0 * * * * *", quick))
		c.SleepTo(62 * time.Second)
		a.leaves()
		other := c.replica("other")
		other.add(other.job("other", "@yearly", quick))
		other.leads()
		c.SleepTo(5 * time.Minute)
		other.leaves()
		b := c.replica("b")
		b.add(b.job("job", "0 * * * * *", quick))
		b.leads()
		c.SleepTo(6*time.Minute + time.Second)
		history, err := b.History(t.Context(), "job", 10)
		missed := slices.IndexFunc(history, func(r scheduler.Record) bool { return r.State == scheduler.StateMissed })
		if err != nil || missed < 0 || !strings.Contains(history[missed].Err, "other led until ") {
			t.Errorf("history %+v, %v", history, err)
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
		s = a.status("job")
		if c.at(s.Last.Tick) != "40s" || !s.Running || c.at(s.LastEnded.Tick) != "10s" || s.LastEnded.State != scheduler.StateOK {
			t.Errorf("during the second run: %+v", s)
		}
		a.leaves()
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

// The nodes refuse the leader's subscription, so it gets no notices.
func TestTrigger_WhereNodesCannotPublish(t *testing.T) {
	withShortLeases(t, 1, func(t *testing.T, c *cluster) {
		c.Deny(0, "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE")
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "@yearly", quick))
		c.SleepTo(time.Minute)
		c.must(b.Trigger(t.Context(), "job"))
		c.SleepTo(time.Minute + ttl/2)
		if runs := c.records(); len(runs) != 1 || !runs[0].Manual {
			t.Errorf("ran %v", c.ran())
		}
	})
}

func TestForget_IsRefusedWhileTheLeaderHasTheJob(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "0,10,20 5 * * * *", quick))
		c.SleepTo(5*time.Minute + 12*time.Second) // after a poll that has told the nodes that all jobs are written
		want.Err(t, b.Forget(t.Context(), "job"), scheduler.ErrJobInUse)
		c.SleepTo(5*time.Minute + 22*time.Second)
		wantEqual(t, "ran", c.ran(), []string{"job 5m0s@5m0s", "job 5m10s@5m10s", "job 5m20s@5m20s"})
		c.must(a.Remove("job"))
		c.SleepTo(5*time.Minute + 35*time.Second)
		if s := b.status("job"); !s.Next.IsZero() || s.Reason != "" || c.at(s.Last.Tick) != "5m20s" {
			t.Errorf("a removed job has the status %+v", s)
		}
		c.must(b.Forget(t.Context(), "job"))
		_, err := b.Status(t.Context(), "job")
		want.Err(t, err, scheduler.ErrUnknownJob)
	})
}
