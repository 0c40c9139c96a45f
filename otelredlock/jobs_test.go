package otelredlock_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

func runs(job, outcome string) string {
	return "redlock.job.runs{redlock.job.name=" + job + ",redlock.run.outcome=" + outcome + "}"
}

func durations(job, outcome string) string {
	return "redlock.job.run.duration{redlock.job.name=" + job + ",redlock.run.outcome=" + outcome + "}"
}

func lags(job string) string { return "redlock.job.schedule.lag{redlock.job.name=" + job + "}" }

var errWork = errors.New("no work today")

// kinds are jobs that end in each way that needs no fault. Each ticks once a minute.
var kinds = map[string]scheduler.Job{
	"ok":    {Spec: "10 * * * * *", Run: func(context.Context, scheduler.Run) error { return nil }},
	"error": {Spec: "11 * * * * *", Run: func(context.Context, scheduler.Run) error { return errWork }},
	"panic": {Spec: "12 * * * * *", Run: func(context.Context, scheduler.Run) error { panic("boom") }},
	"timeout": {
		Spec: "13 * * * * *", Timeout: 2 * time.Second,
		Run: func(ctx context.Context, _ scheduler.Run) error { <-ctx.Done(); return errWork },
	},
	"goexit": {
		Spec: "14 * * * * *",
		Run:  func(context.Context, scheduler.Run) error { runtime.Goexit(); return nil },
	},
	"skipped": {
		Spec: "15,20 * * * * *",
		Run:  func(context.Context, scheduler.Run) error { time.Sleep(10 * time.Second); return nil },
	},
	"recovers": { // the attempt after a panic succeeds, so the run is good
		Spec: "16 * * * * *", Retry: scheduler.Retry{Times: 1, Wait: time.Second},
		Run: func(_ context.Context, run scheduler.Run) error {
			if run.Attempt == 1 {
				panic("boom")
			}
			return nil
		},
	},
	"worsens": { // it panics first, but ends with an error
		Spec: "17 * * * * *", Retry: scheduler.Retry{Times: 1, Wait: time.Second},
		Run: func(_ context.Context, run scheduler.Run) error {
			if run.Attempt == 1 {
				panic("boom")
			}
			return errWork
		},
	},
}

// wantCounted checks the metrics of a replica in which each of the jobs has run once.
func wantCounted(t *testing.T, r *replica) {
	t.Helper()
	r.want(t, map[string]float64{
		runs("ok", "ok"): 1, durations("ok", "ok"): 1, lags("ok"): 1,
		runs("error", "ok"): 0, runs("error", "error"): 1, durations("error", "error"): 1, lags("error"): 1,
		runs("panic", "ok"): 0, runs("panic", "panic"): 1, durations("panic", "panic"): 1,
		runs("timeout", "timeout"): 1, durations("timeout", "timeout"): 1,
		runs("goexit", "error"): 1, durations("goexit", "error"): 1,
		runs("skipped", "ok"): 1, runs("skipped", "skipped"): 1, durations("skipped", "ok"): 1, lags("skipped"): 1,
		runs("recovers", "ok"): 1, runs("worsens", "error"): 1,
	})
	got := r.collect(t)
	for _, name := range []string{
		durations("skipped", "skipped"), runs("recovers", "panic"), runs("worsens", "panic"),
	} {
		if value, exists := got[name]; exists {
			t.Errorf("%s is %v, want none", name, value)
		}
	}
}

// Each process exports its own last good run, which later bad runs do not change.
func TestLastGoodRun_IsWhenItEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.New(t, 3, redlock.WithTTL(ttl))
		a, b := newReplica(t, nodes), newReplica(t, nodes)
		wantTime := func(r *replica, want float64) {
			t.Helper()
			const series = "redlock.job.last_good_run.time{redlock.job.name=job}"
			if got, exists := r.collect(t)[series]; !exists || got < want || got > want+.1 {
				t.Errorf("the last good run ended at %v (exists: %v), want %v", got, exists, want)
			}
		}
		var isBad atomic.Bool
		job := scheduler.Job{
			Name: "job", Spec: "30 * * * * *",
			Run: func(context.Context, scheduler.Run) error {
				time.Sleep(2 * time.Second)
				if isBad.Load() {
					return errWork
				}
				return nil
			},
		}
		a.add(t, job)
		b.add(t, job)
		minute := time.Now().Truncate(time.Minute)
		a.run(t)
		time.Sleep(time.Second)
		b.run(t)
		time.Sleep(39 * time.Second)
		good := float64(minute.Add(32 * time.Second).Unix())
		wantTime(a, good)

		isBad.Store(true)
		time.Sleep(time.Minute)
		wantTime(a, good)
		a.stop()
		time.Sleep(time.Minute)
		wantTime(b, 0)

		isBad.Store(false)
		time.Sleep(time.Minute)
		wantTime(a, good)
		wantTime(b, good+180)
	})
}

// A run that is cut off counts as lost in its own process, and the next leader finds it lost too.
func TestRuns_AreLostWithTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.New(t, 3, redlock.WithTTL(ttl))
		a, b := newReplica(t, nodes), newReplica(t, nodes)
		job := scheduler.Job{
			Name: "job", Spec: "30 * * * * *",
			Run: func(ctx context.Context, _ scheduler.Run) error { <-ctx.Done(); return ctx.Err() },
		}
		a.add(t, job)
		b.add(t, job)
		a.run(t)
		time.Sleep(time.Second)
		b.run(t)
		time.Sleep(30 * time.Second)
		a.Cut()
		time.Sleep(2 * ttl)
		lost := map[string]float64{runs("job", "ok"): 0, runs("job", "lost_lease"): 1}
		a.want(t, lost)
		b.want(t, lost)
		if _, exists := a.collect(t)[durations("job", "lost_lease")]; exists {
			t.Error("a lost run has a duration")
		}
	})
}

func TestTicks_ThatAreUnclaimedOrMissedAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t, redlocktest.New(t, 3, redlock.WithTTL(ttl)))
		r.add(t, scheduler.Job{
			Name: "job", Spec: "* * * * * *", CatchUp: scheduler.CatchUpLast(time.Minute),
			Run: func(context.Context, scheduler.Run) error { return nil },
		})
		r.run(t)
		time.Sleep(10*time.Second + 500*time.Millisecond)
		before := r.collect(t)
		r.Cut()
		time.Sleep(time.Minute)
		r.Heal()
		time.Sleep(10 * time.Second)
		after := r.collect(t)
		if n := after["redlock.job.unclaimed{redlock.job.name=job}"]; n == 0 {
			t.Error("no tick was unclaimed")
		}
		ran := after[runs("job", "ok")] - before[runs("job", "ok")]
		missed := 0.0
		for _, reason := range []string{"no leader", "too few nodes stored it"} {
			missed += after["redlock.job.missed{redlock.job.name=job,redlock.missed.reason="+reason+"}"]
		}
		if ran < 5 || missed < 55 || ran+missed != 70 {
			t.Errorf("of 70 ticks %v ran and %v were missed", ran, missed)
		}
	})
}
