package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/redlockfx/redlockfx/scheduler"
)

// row returns a row of a history, as "tick state attempt start-end error".
func (c *cluster) row(r scheduler.Record) string {
	round := func(t time.Time) time.Duration { return c.At(t).Round(time.Second) }
	return fmt.Sprintf("%s %s %d %v-%v %s", c.at(r.Tick), r.State, r.Attempt, round(r.Start), round(r.End), r.Err)
}

// In the pause before an attempt, nothing is under way: the leader stops at once, or dies, and the next one makes the attempt.
func TestRetry_AnyLeaderGoesOn(t *testing.T) {
	for how, end := range map[string]func(a *replica){
		"it stops":      func(a *replica) { a.leaves() },
		"it shuts down": func(a *replica) { a.c.must(a.Shutdown(a.c.T.Context())) },
		"it dies":       func(a *replica) { a.links.Cut() },
	} {
		for _, again := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, at least once %v", how, again), func(t *testing.T) {
				withShortLeases(t, 3, func(t *testing.T, c *cluster) {
					a, b := c.leader("a"), c.idle("b")
					addBoth(a, b, "10 0 * * * *", failing, func(job *scheduler.Job) {
						job.Retry, job.AtLeastOnce = scheduler.Retry{Times: 5, Wait: time.Minute}, again
						job.Timeout = 150 * time.Second
					})
					c.SleepTo(20 * time.Second)
					if end(a); c.At(now()) > 21*time.Second {
						t.Errorf("the pause held up the end of the leader until %s", c.at(now()))
					}
					b.takesOver()
					c.SleepTo(3 * time.Minute)
					runs := c.records()
					if len(runs) != 2 || runs[1].by != "b" || runs[1].Attempt != 2 || runs[1].start.Sub(runs[0].end) < time.Minute {
						t.Fatalf("ran %+v", runs)
					}
					history, err := b.History(t.Context(), "job", 50)
					c.must(err)
					if len(history) != 1 || history[0].State != scheduler.StateOK || history[0].Attempt != 2 || history[0].CaughtUp {
						t.Errorf("recorded %+v", history)
					}
				})
			})
		}
	}
}

// An attempt that is under way when its leader is asked to stop may fail, and another leader makes the next one.
func TestRetry_AnAttemptThatFailsInADrain(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		addBoth(a, b, "10 0 * * * *", func(context.Context, int) error {
			time.Sleep(5 * time.Second)
			return errBoom
		}, func(job *scheduler.Job) { job.Retry = scheduler.Retry{Times: 100, Wait: time.Millisecond} })
		c.SleepTo(12 * time.Second)
		a.leaves()
		b.takesOver()
		c.SleepTo(20 * time.Second)
		wantEqual(t, "ran by a", c.ranBy()[:1], []string{"job 10s@10s by a"})
		if runs := c.records(); len(runs) != 2 || runs[1].Attempt != 2 || b.states("job")["10s"] != scheduler.StateOK {
			t.Errorf("ran %+v, recorded %v", runs, b.states("job"))
		}
	})
}

// The first attempt fails at 10 s, and the second one would begin at 40 s to 70 s.
func TestRetry_WhatEndsAPause(t *testing.T) {
	for name, test := range map[string]struct {
		change func(job *scheduler.Job)
		end    func(r *replica)
		ran    []string
		want   []string // the rows of the history at 100 s, the oldest first
	}{
		"the timeout": {
			func(job *scheduler.Job) { job.Timeout = 25 * time.Second }, func(*replica) {}, []string{"job 10s@10s"},
			[]string{"10s failed 1 10s-10s the job's timeout of 25s would pass before another attempt: boom"},
		},
		"a newer tick": {
			func(job *scheduler.Job) { job.Overlap, job.Spec = scheduler.Replace, "10,30 0 * * * *" }, func(*replica) {},
			[]string{"job 10s@10s", "job 30s@30s"},
			[]string{"10s failed 1 10s-30s a newer tick took its place before its next attempt", "30s ok 1 30s-30s "},
		},
		"a removal": {
			func(*scheduler.Job) {}, func(r *replica) { r.c.must(r.Remove("job")) }, []string{"job 10s@10s"},
			[]string{"10s failed 1 10s-20s the job was removed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				r := c.leader("a")
				job := r.job("job", "10 0 * * * *", func(_ context.Context, call int) error {
					if call == 1 {
						return errBoom
					}
					return nil
				})
				job.Retry = scheduler.Retry{Times: 1, Wait: 30 * time.Second}
				test.change(&job)
				r.add(job)
				c.SleepTo(20 * time.Second)
				test.end(r)
				c.SleepTo(100 * time.Second)
				wantEqual(t, "ran", c.ran(), test.ran)
				history, err := r.History(t.Context(), "job", 50)
				c.must(err)
				var rows []string
				for _, record := range history {
					rows = append([]string{c.row(record)}, rows...)
				}
				wantEqual(t, "recorded", rows, test.want)
				if lines := r.logged(zapcore.ErrorLevel, "run failed"); len(lines) != 1 {
					t.Errorf("logged %v", lines)
				}
			})
		})
	}
}

// A run in its pause counts as under way for the other ticks, and is shown as running.
func TestRetry_TicksInAPause(t *testing.T) {
	for overlap, want := range map[scheduler.Overlap][]string{
		scheduler.Skip:  {"job 10s@10s", "job 10s@20s"},
		scheduler.Queue: {"job 10s@10s", "job 10s@20s", "job 15s@20s"},
		scheduler.Allow: {"job 10s@10s", "job 15s@15s", "job 10s@20s"},
	} {
		t.Run(fmt.Sprint("overlap ", overlap), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				r := c.leader("a")
				job := r.job("job", "10,15 0 * * * *", func(_ context.Context, call int) error {
					if call == 1 {
						return errBoom
					}
					return nil
				})
				job.Overlap, job.Retry = overlap, scheduler.Retry{Times: 1, Wait: 6 * time.Second}
				r.add(job)
				c.SleepTo(14 * time.Second)
				if s := r.status("job"); !s.Running || s.Last.Attempt != 2 {
					t.Errorf("in the pause: %+v", s)
				}
				c.SleepTo(40 * time.Second)
				var got []string
				for _, run := range c.records() {
					start := c.At(run.start).Round(time.Second)
					if run.Attempt == 2 || c.at(run.Tick) == "15s" && start > 15*time.Second {
						start = 20 * time.Second // at 16 s to 22 s
					}
					got = append(got, fmt.Sprintf("job %s@%s", c.at(run.Tick), start))
				}
				wantEqual(t, "ran", got, want)
			})
		})
	}
}

// The doubling of pauses ends at MaxWait. A permanent error ends the retries; its text is as without Permanent.
func TestRetry_HasLimits(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		r := c.leader("a")
		bounded := r.job("bounded", "10 0 0 * * *", failing)
		bounded.Retry = scheduler.Retry{Times: 6, Wait: 10 * time.Second, MaxWait: 40 * time.Second}
		permanent := r.job("permanent", "10 0 0 * * *", func(context.Context, int) error {
			return fmt.Errorf("import: %w", scheduler.Permanent(errBoom))
		})
		permanent.Retry = bounded.Retry
		r.add(bounded, permanent)
		c.SleepTo(10 * time.Minute)
		var last time.Time
		for n, run := range c.records() {
			if pause := run.start.Sub(last); n >= 2 && (pause < min(10*time.Second<<(n-2), 40*time.Second) || pause > 81*time.Second) {
				t.Errorf("the pause before attempt %d is %v", n, pause)
			}
			last = run.start
		}
		if n := len(c.records()); n != 7+1 {
			t.Errorf("%d attempts in all", n)
		}
		if s := r.status("permanent"); s.Last.State != scheduler.StateFailed || s.Last.Err != "import: boom" {
			t.Errorf("recorded %+v", s.Last)
		}
		if scheduler.Permanent(nil) != nil {
			t.Error("no error is one")
		}
	})
}
