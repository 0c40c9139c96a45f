package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// Otherwise a leader would have no ticks while it has a quorum.
func TestMaxClockSkew_IsWithinThatOfJobs(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		for _, d := range []time.Duration{redlock.MinTTL, 10 * time.Second, time.Hour, 1000 * time.Hour} {
			locker, _ := c.Locker(redlock.WithTTL(d), redlock.WithMaxTTL(d), redlock.WithNodeTimeout(d/4))
			if skew := locker.Settings().MaxClockSkew; skew > jobstore.MaxSkew {
				t.Errorf("the clocks of nodes may be %v apart with a TTL of %v, those of a job's nodes %v", skew, d, jobstore.MaxSkew)
			}
		}
	})
}

func TestNew_RefusesNil(t *testing.T) {
	_, err := scheduler.New(nil)
	want.Text(t, err, "elector is nil")
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		elector := c.idle("a").elector
		_, err := scheduler.New(elector, scheduler.WithMiddleware(nil))
		want.Text(t, err, "a middleware is nil")
		_, err = scheduler.New(elector, scheduler.WithLogger(nil), nil)
		want.Text(t, err, "option 2 of 2 is nil")
	})
}

func TestAdd_RefusesAMiddlewareThatReturnsNil(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		type work = func(context.Context, scheduler.Run) error
		r := c.idle("a", scheduler.WithMiddleware(func(work) work { return nil }))
		want.Text(t, r.Add(r.job("job", "@hourly", quick)), `job "job"`, "a middleware has returned nil")
	})
}

// Two Schedulers in one term would take each other's runs for those of an earlier leader.
func TestNew_RefusesASecondSchedulerOfAnElector(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		r := c.idle("a")
		_, err := scheduler.New(r.elector)
		want.Text(t, err, `the elector of "x" has a Scheduler already`, "scheduler/fixture_test.go:")
		c.must(r.Shutdown(t.Context()))
		_, err = scheduler.New(r.elector)
		want.Text(t, err, "has a Scheduler already")
	})
}

func TestAdd_ReportsAllProblemsAtOnce(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		r := c.leader("a")
		good := r.job("good", "* * * * * *", quick)
		bad := scheduler.Job{
			Name: "bad", Spec: "61 * * * *", Timeout: -time.Second, Overlap: 4,
			Retry:  scheduler.Retry{Times: 101, Wait: -time.Minute},
			Jitter: -time.Second, CatchUp: scheduler.CatchUpLast(366*24*time.Hour + 1),
		}
		worse := r.job(strings.Repeat("n", 201), "@every 1ms", quick)
		worse.Overlap, worse.Retry.Times, worse.CatchUp = -1, -1, scheduler.CatchUpAll(-time.Hour)
		tiny := r.job("tiny", "@hourly", quick)
		tiny.Timeout, tiny.Jitter, tiny.Retry.Wait, tiny.CatchUp = 30, 5, 2, scheduler.CatchUpLast(10)
		deadly := r.job("deadly", "@hourly", quick)
		deadly.MaxAttempts, deadly.Retry.MaxWait = 1001, time.Millisecond
		long := r.job("a\nb", strings.Repeat("0,", 128)+"0 * * * *", quick)

		err := r.Add(good, bad, worse, long, tiny, deadly)
		want.Err(t, err, scheduler.ErrSpec, scheduler.ErrName)
		want.Text(t, err,
			`"61 * * * *" of job "bad": minute: `, `"bad": Run is nil`, "timeout -1s must not be negative",
			"overlap 4 must be", "retry times 101 must be from 0 to 100", "retry wait -1m0s must",
			"jitter -1s must not be negative", "catch-up window 8784h0m0.000000001s must be above 0 and at most 8784h0m0s",
			"catch-up window -1h0m0s must", `name "a\nb"`, "265 bytes long, at most 256",
			"201 bytes", "scheduler_test.go:", "(job 3 of 6)", "@every 1ms is less than 1s",
			"overlap -1 must be", "retry times -1 must be",
			"timeout 30ns is below 1ms: multiply it by a unit, as in 30*time.Second", "jitter 5ns is below 1ms",
			"retry wait 2ns is below 1ms", "catch-up window 10ns is below 1ms",
			"longest retry wait 1ms must be at least the first one, 1s", "max attempts 1001 must be from 1 to 1000, or 0 for 5",
			"max attempts 1001 is for AtLeastOnce")
		c.SleepTo(10 * time.Second)
		wantEqual(t, "of a call with a bad job, none was added; ran", c.ran(), nil)
		want.Err(t, r.Remove("good"), scheduler.ErrUnknownJob)
	})
}

func TestAdd_AcceptsTheBounds(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		r := c.idle("a")
		job := r.job(strings.Repeat("n", 200), "@yearly", quick)
		job.Overlap, job.Retry.Times, job.CatchUp = scheduler.Allow, 100, scheduler.CatchUpAll(366*24*time.Hour)
		if err := errors.Join(r.Add(job), r.Add()); err != nil {
			t.Error(err)
		}
	})
}

func TestAdd_NamesBothRegistrationsOfAName(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		r := c.idle("a")
		twin, other := r.job("twin", "@daily", quick), r.job("other", "@daily", quick)
		first := r.Add(twin)
		again, line := r.Add(other, twin), here()
		if first != nil {
			t.Fatal(first)
		}
		want.Err(t, again, scheduler.ErrName)
		want.Text(t, again, `"twin"`, fmt.Sprintf("scheduler_test.go:%d and again at ", line-1),
			fmt.Sprintf("scheduler_test.go:%d (job 2 of 2)", line))

		err := r.Add(other, other)
		want.Err(t, err, scheduler.ErrName)
		want.Text(t, err, `"other"`, "(job 1 of 2) and again", "(job 2 of 2)")
	})
}

// here returns the line of its call.
func here() int {
	_, _, line, _ := runtime.Caller(1)
	return line
}

// The run under way goes on, and the tick that waits for it does not run. A new job of the same name waits for that run too.
func TestRemove_EndsTicksNotRuns(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		r := c.leader("a")
		job := r.job("job", "*/10 * * * * *", lasting(25*time.Second))
		job.Overlap = scheduler.Queue
		r.add(job)
		c.SleepTo(22 * time.Second)
		c.must(r.Remove("job"))
		err := r.Remove("job")
		want.Err(t, err, scheduler.ErrUnknownJob)
		want.Text(t, err, `"job"`)
		r.add(r.job("job", "*/4 * * * * *", quick))
		c.SleepTo(43 * time.Second)
		wantEqual(t, "ran", c.ran(), []string{"job 10s@10s", "job 36s@36s", "job 40s@40s"})
		if runs := c.records(); runs[0].end.Sub(runs[0].start) != 25*time.Second || runs[0].cause != nil {
			t.Errorf("the run under way ended %v by %v", c.at(runs[0].end), runs[0].cause)
		}
	})
}

func TestWithLocation_IsTheZoneOfSpecsAndJobsWithoutOne(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo") // UTC+9
	want.NoError(t, err)
	rome, err := time.LoadLocation("Europe/Rome") // UTC+1 in January
	want.NoError(t, err)
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		r := c.leader("a", scheduler.WithLocation(tokyo))
		local := r.job("local", "0 3 * * *", quick)
		local.Location = rome
		named := r.job("named", "CRON_TZ=UTC 0 1 * * *", quick)
		named.Location = rome
		r.add(r.job("default", "0 12 * * *", quick), local, named)
		c.SleepTo(4 * time.Hour)
		wantEqual(t, "ran", c.ran(),
			[]string{"named 1h0m0s@1h0m0s", "local 2h0m0s@2h0m0s", "default 3h0m0s@3h0m0s"})
		for _, run := range c.records() {
			if run.Tick.Location() != time.UTC {
				t.Errorf("tick in %v", run.Tick.Location())
			}
		}
	})
}

func TestWrapCron_RunsAJobOfRobfig(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		r := c.leader("a")
		n := 0
		r.add(scheduler.Job{Name: "old", Spec: "@every 10s",
			Run: scheduler.WrapCron(cron.FuncJob(func() { n++ }))})
		c.SleepTo(35 * time.Second)
		if n != 3 {
			t.Errorf("ran %d times, want 3", n)
		}
		want.Text(t, r.Add(scheduler.Job{Name: "nil", Spec: "@daily", Run: scheduler.WrapCron(nil)}),
			"Run is nil")
	})
}

// An elector without a callback has nothing to lead for.
func TestAdd_RegistersTheSchedulerWithItsFirstJob(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		r, empty := c.idle("a"), c.idle("b")
		for i, jobs := range [][]scheduler.Job{nil, {r.job("job", "@hourly", quick)}} {
			c.must(r.Add(jobs...))
			select {
			case <-inside.HasWork(r.elector):
				if i == 0 {
					t.Error("it is registered without a job")
				}
			default:
				if i == 1 {
					t.Error("it is not registered with its first job")
				}
			}
		}
		c.must(errors.Join(empty.Shutdown(t.Context()), r.Shutdown(t.Context())))
	})
}
