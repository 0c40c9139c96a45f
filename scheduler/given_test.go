package scheduler_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"go.uber.org/zap/zapcore"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/scheduler"
)

// nextFunc is a schedule made of its Next.
type nextFunc func(time.Time) time.Time

func (f nextFunc) Next(after time.Time) time.Time { return f(after) }

// listed returns the schedule of a list of ticks, as times since the bubble began.
func (c *cluster) listed(ticks ...time.Duration) nextFunc {
	return func(after time.Time) time.Time {
		for _, tick := range ticks {
			if c.Start.Add(tick).After(after) {
				return c.Start.Add(tick)
			}
		}
		return time.Time{}
	}
}

// holidays is a spec that people may choose, with characters that mean something elsewhere.
const holidays = `0 9 * * 1-5 "außer" a=b,c`

func (c *cluster) addSchedule(s cron.Schedule, spec string, replicas ...*replica) {
	for _, r := range replicas {
		job := r.job("job", spec, quick)
		job.Schedule, job.CatchUp = s, scheduler.CatchUpAll(2*time.Hour)
		r.add(job)
	}
}

func TestSchedule_TicksOverAChangeOfLeaderAreItsOwn(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b, without := c.leader("a"), c.idle("b"), c.idle("c")
		ticks := c.listed(5*time.Minute, 7*time.Minute, 20*time.Minute, 31*time.Minute, 50*time.Minute)
		c.addSchedule(ticks, holidays, a, b)
		c.SleepTo(10 * time.Minute)
		a.leaves()
		c.SleepTo(35 * time.Minute)
		b.takesOver()
		c.SleepTo(45 * time.Minute)
		wantEqual(t, "ran", c.ran(), []string{"job 5m0s@5m0s", "job 7m0s@7m0s", "job 20m0s@35m0s", "job 31m0s@35m0s"})
		s := b.status("job")
		if s.Spec != "@schedule "+holidays || s.Own != "" || c.at(s.Next) != "50m0s" || s.Missed != 0 {
			t.Errorf("%+v", s)
		}
		if s := without.status("job"); s.Spec != "@schedule "+holidays || s.Own != "none" || !s.Next.IsZero() || s.Reason != "" {
			t.Errorf("a replica without the job says %+v", s)
		}
		if err := without.Rerun(t.Context(), "job", c.Start.Add(7*time.Minute)); !errors.Is(err, scheduler.ErrNotTick) {
			t.Errorf("rerun by a replica without the job: %v", err)
		}
		want.NoError(t, b.Rerun(t.Context(), "job", c.Start.Add(7*time.Minute)))
		if err := b.Rerun(t.Context(), "job", c.Start.Add(8*time.Minute)); !errors.Is(err, scheduler.ErrNotTick) {
			t.Errorf("rerun of no tick: %v", err)
		}
		c.SleepTo(time.Hour)
		b.leaves()
		if lines := b.logged(zapcore.InfoLevel, "the job's spec or zone has changed: its ticks begin now"); len(lines) > 0 {
			t.Errorf("logged %v", lines)
		}
	})
}

// Replicas compare nothing but the text.
func TestSchedule_WithAnotherTextIsAChange(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		c.addSchedule(c.listed(5*time.Minute, 20*time.Minute, 50*time.Minute), "holidays of 2026", a)
		c.addSchedule(c.listed(5*time.Minute, 21*time.Minute, 50*time.Minute), "holidays of 2027", b)
		c.SleepTo(10 * time.Minute)
		a.leaves()
		c.SleepTo(35 * time.Minute)
		b.takesOver()
		c.SleepTo(time.Hour)
		wantEqual(t, "ran", c.ran(), []string{"job 5m0s@5m0s", "job 50m0s@50m0s"})
	})
}

func hourly(after time.Time) time.Time { return after.Truncate(time.Hour).Add(time.Hour) }

// wrong is a Next that fails, and what is said of it.
type wrong struct {
	next nextFunc
	says string
}

// wrongNexts returns some. One waits for a channel.
func wrongNexts(forever <-chan struct{}) map[string]wrong {
	return map[string]wrong{
		"panics":       {func(time.Time) time.Time { panic("no holidays of this year") }, "scheduler: Next panicked: no holidays of this year"},
		"calls Goexit": {func(time.Time) time.Time { runtime.Goexit(); return time.Time{} }, "Next called runtime.Goexit"},
		"goes back":    {func(after time.Time) time.Time { return hourly(after).Add(-2 * time.Hour) }, ", which is not after it"},
		"stands still": {func(after time.Time) time.Time { return after }, ", which is not after it"},
		"half seconds": {func(after time.Time) time.Time { return hourly(after).Add(500 * time.Millisecond) }, ", which is not a whole second"},
		"never ends":   {func(time.Time) time.Time { <-forever; return time.Time{} }, "Next did not answer within 2s"},
	}
}

func TestSchedule_AddRefusesABadOne(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		forever := make(chan struct{})
		defer close(forever)
		february, err := cron.ParseStandard("0 0 31 2 *")
		want.NoError(t, err)
		bad := wrongNexts(forever)
		bad["an interval"] = wrong{cron.Every(time.Hour).Next, "between the two, it is"}
		bad["31 February"] = wrong{february.Next, "it has no ticks: its date never comes"}
		a := c.idle("a")
		add := func(spec string, next nextFunc, says string) {
			job := a.job("wages", spec, quick)
			job.Schedule = next
			if err := a.Add(job); !errors.Is(err, scheduler.ErrSpec) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), `job "wages"`) {
				t.Errorf("%v, want %q", err, says)
			}
		}
		for _, test := range bad {
			add("working days", test.next, test.says)
		}
		add("", hourly, "the spec of a Schedule is empty")
		add(strings.Repeat("x", 201), hourly, "has 201 bytes, it may have 200")
		add("working\ndays", hourly, "must not contain the invisible character")
		job := a.job("wages", "working days", quick)
		job.Schedule = c.listed(-time.Hour)
		a.add(job) // its only tick has passed, as in a deploy after it
	})
}

// The first call that fails holds up the others by two seconds at most. A deploy of a good one catches up.
func TestSchedule_OneThatFailsLaterFailsOnlyItsJob(t *testing.T) {
	forever := make(chan struct{})
	close(forever) // only the names matter
	for name := range wrongNexts(forever) {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				forever := make(chan struct{})
				defer close(forever)
				test := wrongNexts(forever)[name]
				a, b := c.leader("a"), c.idle("b")
				every20 := func(after time.Time) time.Time { return after.Truncate(20 * time.Minute).Add(20 * time.Minute) }
				c.addSchedule(nextFunc(func(after time.Time) time.Time {
					if now().Before(c.Start.Add(30 * time.Minute)) {
						return every20(after)
					}
					return test.next(after)
				}), "working days", a)
				c.addSchedule(nextFunc(every20), "working days", b)
				a.add(a.job("other", "*/5 * * * * *", quick))
				c.SleepTo(65 * time.Minute)

				others := 0
				for _, run := range c.records() {
					if run.Job == "other" {
						others++
						if late := run.start.Sub(run.Tick); late > 2*time.Second {
							t.Errorf("%s began %v late", c.at(run.Tick), late)
						}
					}
				}
				if others != 65*12 {
					t.Errorf("the other job ran %d times", others)
				}
				lines := a.logged(zapcore.ErrorLevel, "the Schedule of a job has failed, and the job has no ticks any more in this process")
				if len(lines) != 1 || lines[0].ContextMap()["job"] != "job" {
					t.Errorf("logged %v", lines)
				}
				if s := a.status("job"); !strings.Contains(s.Reason, "its Schedule has failed: ") || !strings.Contains(s.Reason, test.says) || !s.Next.IsZero() {
					t.Errorf("the status says %+v", s)
				}
				if err := a.Rerun(t.Context(), "job", c.Start.Add(20*time.Minute)); err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("Rerun says %v", err)
				}
				if err := a.elector.Check(); err == nil || errors.Is(err, election.ErrRestart) || !strings.Contains(err.Error(), test.says) {
					t.Errorf("Check says %v", err)
				}

				a.leaves()
				b.takesOver()
				c.SleepTo(70 * time.Minute)
				var ran []string
				for _, run := range c.records() {
					if run.Job == "job" {
						ran = append(ran, run.by+" "+c.at(run.Tick))
					}
				}
				wantEqual(t, "ran", ran, []string{"a 20m0s", "b 40m0s", "b 1h0m0s"})
			})
		})
	}
}
