package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/redlockfx/redlockfx/scheduler"
)

const overrunLine = "a run has not returned after its timeout, and is under way until it returns or this process restarts"

// However a run was started, one that ignores its context for hours is seen soon after its timeout, on any replica, until it returns.
func TestOverrun_IsSeenUntilTheRunReturns(t *testing.T) {
	const timeout, lasts = 3 * time.Second, 5 * time.Hour
	for name, test := range map[string]struct {
		overlap scheduler.Overlap
		trigger bool
	}{
		"skip":    {},
		"queue":   {overlap: scheduler.Queue},
		"replace": {overlap: scheduler.Replace},
		"allow":   {overlap: scheduler.Allow}, // the next runs are newer than the one that hangs
		"trigger": {trigger: true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				reported := &recorder{}
				a, b := c.leader("a", scheduler.WithHooks(scheduler.Hooks{
					Overrun: func(run scheduler.Run) { reported.add("%s at %s, manual: %v", run.Job, c.at(run.Tick), run.Manual) },
				})), c.idle("b")
				job := a.job("job", "0,10 0 0 * * *", func(_ context.Context, call int) error {
					if call == 1 {
						time.Sleep(lasts)
					}
					return nil
				})
				job.Timeout, job.Overlap = timeout, test.overlap
				if test.trigger {
					job.Spec = "0 0 0 1 1 *"
				}
				a.add(job)
				if test.trigger {
					c.SleepTo(10 * time.Second)
					c.must(b.Trigger(t.Context(), "job"))
				}
				c.SleepTo(13500 * time.Millisecond) // it may yet return
				if lines := a.logged(zapcore.WarnLevel, overrunLine); len(lines) > 0 || a.status("job").Overrun.ID != "" {
					t.Errorf("logged %v", lines)
				}
				c.SleepTo(14500 * time.Millisecond)
				lines := a.logged(zapcore.WarnLevel, overrunLine)
				if len(lines) != 1 || lines[0].ContextMap()["job"] != "job" || lines[0].ContextMap()["timeout"] != timeout {
					t.Errorf("logged %v", lines)
				}
				const why = "no end within the job's timeout of 3s"
				if got := b.status("job").Overrun; got.Err != why || got.State != scheduler.StateRunning || got.Replica != "a" {
					t.Errorf("its status is %+v", got)
				}
				c.SleepTo(lasts)
				if n := len(a.logged(zapcore.WarnLevel, overrunLine)); n != 10 { // the pauses double up to an hour
					t.Errorf("%d lines in %v, want 10", n, lasts)
				}
				history, err := b.History(t.Context(), "job", 10)
				c.must(err)
				if got := history[0]; got.Err != why || got.State != scheduler.StateRunning {
					t.Errorf("its row is %+v", got)
				}

				c.SleepTo(lasts + time.Minute)
				before := len(a.logged(zapcore.WarnLevel, overrunLine))
				history, err = b.History(t.Context(), "job", 10)
				c.must(err)
				first := slices.IndexFunc(history, func(r scheduler.Record) bool { return r.End.Sub(r.Start) >= lasts })
				if first < 0 || history[first].State != scheduler.StateOK || history[first].Err != "late: the job's timeout of 3s has passed" {
					t.Errorf("its history is %+v", history)
				}
				if got := b.status("job"); got.Overrun.ID != "" || got.LastOK.ID == "" {
					t.Errorf("its status is %+v", got)
				}
				if late := a.logged(zapcore.WarnLevel, "run done, but after its timeout"); len(late) != 1 {
					t.Errorf("logged %v", late)
				}
				c.SleepTo(2 * lasts)
				if after := len(a.logged(zapcore.WarnLevel, overrunLine)); after != before {
					t.Errorf("%d lines after its end", after-before)
				}
				wantEqual(t, "reported", reported.reported(), []string{fmt.Sprintf("job at %s, manual: %v", c.at(history[first].Tick), test.trigger)})
			})
		})
	}
}

// A run that returns before its timeout, at that instant, or soon after it, is no overrun.
func TestOverrun_IsNoRunThatReturnsInTime(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		a := c.leader("a", scheduler.WithHooks(scheduler.Hooks{Overrun: func(run scheduler.Run) { t.Errorf("reported %v", run) }}))
		for name, work := range map[string]func(context.Context, int) error{
			"before": lasting(2999 * time.Millisecond), "at": lasting(3 * time.Second), "after": untilDone(999 * time.Millisecond),
		} {
			job := a.job(name, "10 0 0 * * *", work)
			job.Timeout = 3 * time.Second
			a.add(job)
		}
		c.SleepTo(time.Minute)
		for name, why := range map[string]string{
			"before": "", "after": "the job's timeout of 3s has passed: context deadline exceeded",
		} {
			if got := a.status(name).Last; got.Err != why {
				t.Errorf("%s: %+v", name, got)
			}
		}
		if got := a.status("at").Last; got.State != scheduler.StateOK || got.Err != "" && !strings.HasPrefix(got.Err, "late: ") {
			t.Errorf("at: %+v", got) // either may come first
		}
		if lines := a.logged(zapcore.WarnLevel, overrunLine); len(lines) > 0 {
			t.Errorf("logged %v", lines)
		}
	})
}

// A hook that blocks holds up the run, so that nothing of a run goes on after its end is reported.
func TestOverrun_ItsHookReturnsBeforeTheRunEnds(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		reported := &recorder{}
		hooks := reported.hooks()
		hooks.Overrun = func(scheduler.Run) {
			time.Sleep(20 * time.Second)
			reported.add("overran")
		}
		a := c.leader("a", scheduler.WithHooks(hooks))
		job := a.job("job", "10 * * * * *", lasting(10*time.Second))
		job.Timeout = 3 * time.Second
		a.add(job)
		c.SleepTo(40 * time.Second)
		wantEqual(t, "reported", reported.reported(), []string{
			"job started, attempt 1", "overran", `job finished: ok, attempt 1, "late: the job's timeout of 3s has passed"`,
		})
	})
}
