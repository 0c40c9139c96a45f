package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// Bad rows are refused by name. The others apply, and the job of a row that has become bad goes on as it was.
func TestSource_BadRows(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		tab := &table{}
		tab.set(every("good", "30 * * * * *", quick), every("turns", "30 * * * * *", quick))
		a := c.leader("a").source(tab)
		c.SleepTo(40 * time.Second)
		tab.set(
			every("good", "15 * * * * *", quick), every("turns", "every minute", quick), every("twice", "0 * * * * *", quick),
			every("twice", "30 * * * * *", quick), every("", "0 * * * * *", quick), every("no\nline", "0 * * * * *", quick),
			func(*replica) scheduler.Job { return scheduler.Job{Name: "runless", Spec: "@daily"} },
		)
		c.SleepTo(100 * time.Second)
		wantEqual(t, "ticks", c.ticksBy("rows/good"), []string{"a 30s", "a 1m15s"})
		wantEqual(t, "ticks of the row that became bad", c.ticksBy("rows/turns"), []string{"a 30s", "a 1m30s"})
		s := a.status("rows")
		for _, part := range []string{
			"5 of 6 jobs are refused", `"every minute" of job "rows/turns"`, `2 rows have the name "twice"`, "a row has no name",
			`"rows/no\nline"`, `job "rows/runless": Run is nil`,
		} {
			if !strings.Contains(s.LastEnded.Err, part) {
				t.Errorf("no %q in %s", part, s.LastEnded.Err)
			}
		}
		if s.LastEnded.State != scheduler.StateFailed || s.LastEnded.Attempt != 1 {
			t.Errorf("%+v", s.LastEnded)
		}
		c.SleepTo(3 * time.Minute)
		if err := a.elector.Check(); err == nil || !strings.Contains(err.Error(), "rows/turns") {
			t.Errorf("Check: %v", err)
		}
	})
}

// A job that is gone ends its ticks at once, and its run goes on. If it is there again it keeps its past, also under another
// leader.
func TestSource_AJobThatIsGoneAndComesBack(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		tab := &table{}
		job := every("job", "*/20 * * * * *", lasting(15*time.Second))
		tab.set(job)
		a := c.leader("a").source(tab)
		b := c.idle("b").source(tab)
		c.SleepTo(41 * time.Second)
		tab.set()
		c.must(b.Refresh(t.Context(), "rows", scheduler.By("ann")))
		c.SleepTo(5 * time.Minute)
		runs := c.records()
		if last := runs[len(runs)-1]; c.at(last.Tick) != "40s" || last.end.Sub(last.start) != 15*time.Second || last.cause != nil {
			t.Errorf("the last run is %+v", last)
		}
		a.leaves()
		b.takesOver()
		tab.set(job)
		c.SleepTo(6*time.Minute + 25*time.Second)
		ticks := c.ticksBy("rows/job")
		if !slices.Equal(ticks[:2], []string{"a 20s", "a 40s"}) || len(ticks) < 3 || ticks[2][:2] != "b " {
			t.Errorf("ticks %q", ticks)
		}
		rows, err := b.History(t.Context(), "rows/job", 50)
		c.must(err)
		if first := rows[len(rows)-1]; c.at(first.Tick) != "20s" {
			t.Errorf("the past is lost: %+v", rows)
		}
		if s := b.status("rows/job"); s.Missed > 0 {
			t.Errorf("ticks are missed while the job was gone: %+v", s)
		}
	})
}

// A process that leads again starts no job of its last term that may be gone.
func TestSource_ATermStartsWithoutTheJobsOfTheLastOne(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		tab := &table{}
		tab.set(every("job", "0 * * * * *", quick))
		a := c.leader("a").source(tab)
		c.SleepTo(70 * time.Second)
		a.leaves()
		tab.set()
		tab.onLoad(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		a.takesOver()
		c.SleepTo(125 * time.Second)
		wantEqual(t, "ticks", c.ticksBy("rows/job"), []string{"a 1m0s"})
	})
}

// The nodes forget a job when it has been gone for a day, whoever leads: one that was removed by the leader before, and one
// that went while nobody led, whose run is lost. A bad row is not gone.
func TestSource_AJobThatIsGoneIsForgottenADayLater(t *testing.T) {
	long(t)
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		tab := &table{}
		tab.set(every("early", "@daily", quick), every("late", "@hourly", lasting(2*time.Hour)), every("bad", "@daily", quick))
		a := c.leader("a").sourceEvery(tab, 30*time.Minute)
		a.add(a.job("job", "@daily", quick))
		b := c.idle("b").sourceEvery(tab, 30*time.Minute)
		b.add(b.job("job", "@daily", quick))
		c.SleepTo(35 * time.Minute)
		tab.set(every("late", "@hourly", lasting(2*time.Hour)), every("bad", "@daily", quick))
		c.SleepTo(61 * time.Minute)
		tab.set(every("bad", "never", quick))
		a.links.Cut() // a dies
		c.SleepTo(80 * time.Minute)
		b.takesOver()
		c.SleepTo(85 * time.Minute)
		if s := b.status("rows/late"); s.Running || s.LastEnded.State != scheduler.StateLost || s.Unowned {
			t.Errorf("the job that went while nobody led: %+v", s)
		}
		names := func() (all []string) {
			jobs, err := b.Jobs(t.Context())
			c.must(err)
			for _, s := range jobs {
				if strings.HasPrefix(s.Job, "rows") || s.Job == "job" {
					all = append(all, s.Job)
				}
			}
			return all
		}
		c.SleepTo(24*time.Hour + 20*time.Minute)
		wantEqual(t, "jobs after 24 hours", names(), []string{"job", "rows", "rows/bad", "rows/early", "rows/late"})
		b.leaves()
		b.takesOver() // a third term: it learns from the nodes since when they are gone
		c.SleepTo(24*time.Hour + 45*time.Minute)
		wantEqual(t, "jobs after 24 hours and 45 minutes", names(), []string{"job", "rows", "rows/bad", "rows/early", "rows/late"})
		c.SleepTo(25*time.Hour + 40*time.Minute)
		wantEqual(t, "jobs after 25 hours and 40 minutes", names(), []string{"job", "rows", "rows/bad"})
	})
}

// A follower that has the source makes the leader load it. What runs is what was loaded last.
func TestSource_RefreshFromAFollower(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		tab := &table{}
		said := ""
		says := func(text string) row {
			return every("job", "0 * * * * *", func(context.Context, int) error { said = text; return nil })
		}
		tab.set(says("one"))
		c.leader("a").source(tab)
		follower, other := c.replica("f").source(tab), c.idle("o")
		c.SleepTo(10 * time.Second)
		tab.set(says("two"), every("new", "30 * * * * *", quick))
		c.must(follower.Refresh(t.Context(), "rows"))
		c.SleepTo(31 * time.Second)
		wantEqual(t, "ticks of the new job", c.ticksBy("rows/new"), []string{"a 30s"})
		rec, err := follower.TriggerAndWait(t.Context(), "rows")
		if err != nil || rec.State != scheduler.StateOK || rec.Replica != "a" {
			t.Errorf("%+v, %v", rec, err)
		}
		wantEqual(t, "loads", tab.loadedAt(c), []string{"0s", "10s", "31s"})
		c.SleepTo(61 * time.Second)
		if said != "two" {
			t.Errorf("the run said %q", said)
		}
		for _, r := range []*replica{follower, other} {
			if err := r.Refresh(t.Context(), "job"); !errors.Is(err, scheduler.ErrUnknownJob) {
				t.Errorf("refresh of a job: %v", err)
			}
		}
		if err := other.Refresh(t.Context(), "rows"); !errors.Is(err, scheduler.ErrUnknownJob) {
			t.Errorf("refresh by a process without the source: %v", err)
		}
		c.must(other.Trigger(t.Context(), "rows")) // as redlockctl does
	})
}

// The only node loses its data while nobody leads. The next leader has never led, and the row's job stays paused.
func TestSource_APauseThatTheOnlyNodeLoses(t *testing.T) {
	withShortLeases(t, 1, func(t *testing.T, c *cluster) {
		tab := &table{}
		tab.set(every("job", "0 * * * * *", quick))
		a := c.leader("a").source(tab)
		b := c.replica("b").source(tab)
		c.SleepTo(30 * time.Second)
		c.must(a.Pause(t.Context(), "rows/job"))
		c.SleepTo(6*time.Minute + 30*time.Second)
		a.links.Cut() // a dies
		c.restartsEmpty(0, 100*time.Second)
		c.SleepTo(12*time.Minute + 30*time.Second)
		if s := b.status("rows/job"); !s.Paused || s.DataLost.IsZero() || len(c.ticksBy("rows/job")) > 0 {
			t.Errorf("%+v, ticks %q", s, c.ticksBy("rows/job"))
		}
	})
}

// Names and settings that are refused.
func TestSource_WhatIsRefused(t *testing.T) {
	withShortLeases(t, 1, func(t *testing.T, c *cluster) {
		a := c.idle("a")
		load := func(context.Context) ([]scheduler.Job, error) { return nil, nil }
		for says, src := range map[string]scheduler.Source{
			"Load is nil":          {Name: "s"},
			"name is empty":        {Load: load},
			"must not be negative": {Name: "s", Load: load, Every: -time.Second},
			"@every 1.5s":          {Name: "s", Load: load, Every: 1500 * time.Millisecond},
		} {
			if err := a.AddSource(src); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%+v: %v, want an error that says %q", src, err, says)
			}
		}
		a.source(&table{})
		a.add(a.job("job/one", "@daily", quick))
		if err := a.AddSource(scheduler.Source{Name: "rows", Load: load}); !errors.Is(err, scheduler.ErrName) {
			t.Errorf("a source again: %v", err)
		}
		if err := a.AddSource(scheduler.Source{Name: "job", Load: load}); !errors.Is(err, scheduler.ErrName) {
			t.Errorf("a source that could have a job that was added: %v", err)
		}
		if err := a.Add(a.job("rows/job", "@daily", quick)); !errors.Is(err, scheduler.ErrName) {
			t.Errorf("a job that a source could have: %v", err)
		}
		if err := a.Remove("rows"); err == nil {
			t.Error("a source was removed")
		}
	})
}
