package scheduler_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/scheduler"
)

var errBoom = errors.New("boom")

func failing(context.Context, int) error { return errBoom }

func TestRun_HasTheTermInItsContext(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		r := c.leader("a")
		r.add(r.job("job", "*/10 * * * * *", func(ctx context.Context, _ int) error {
			term, ok := election.TermFrom(ctx)
			if current, _ := r.elector.Term(); !ok || term != current {
				t.Errorf("got term %v, want %v", term, current)
			}
			if _, ok := ctx.Deadline(); ok {
				t.Error("without a timeout, the context has a deadline")
			}
			return nil
		}))
		c.SleepTo(15 * time.Second)
		wantEqual(t, "ran", c.ran(), []string{"job 10s@10s"})
		if got := r.logs.FilterLevelExact(zapcore.ErrorLevel).All(); len(got) != 0 {
			t.Errorf("logged %v", got)
		}
	})
}

func TestTimeout_EndsTheContext(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		r := c.leader("a")
		job := r.job("job", "*/10 * * * * *", untilDone(0))
		job.Timeout = 3 * time.Second
		ignores := r.job("ignores", "*/10 * * * * *", lasting(25*time.Second)) // it is under way until it returns
		ignores.Timeout = job.Timeout
		r.add(job, ignores)
		c.SleepTo(15 * time.Second)
		run := slices.DeleteFunc(c.records(), func(run record) bool { return run.Job != "job" })[0]
		if run.end.Sub(run.start) != job.Timeout || !errors.Is(run.cause, context.DeadlineExceeded) ||
			run.cause.Error() != "the job's timeout of 3s has passed" {
			t.Errorf("ended after %v by %v", run.end.Sub(run.start), run.cause)
		}
		failed := r.logged(zapcore.ErrorLevel, "run failed")
		if len(failed) != 1 {
			t.Fatalf("logged %v, want one error", failed)
		}
		fields := failed[0].ContextMap()
		if fields["job"] != "job" || fields["took"] != job.Timeout || fields["tick"] != run.Tick ||
			fields["term"] != run.Token || fields["error"] != "the job's timeout of 3s has passed: context deadline exceeded" {
			t.Errorf("logged %v", fields)
		}
		c.SleepTo(39 * time.Second)
		if n := c.runsOf("ignores"); n != 1 {
			t.Errorf("%d runs began beside one that ignores its timeout", n-1)
		}
	})
}

// pauses returns the times between the end of a call and the start of the next.
func pauses(runs []record) []time.Duration {
	var pauses []time.Duration
	for i, run := range runs[1:] {
		pauses = append(pauses, run.start.Sub(runs[i].end))
	}
	return pauses
}

func TestRetry_PausesDoubleAndEnd(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		r := c.leader("a")
		waits := map[string]time.Duration{"default": 0, "short": 100 * time.Millisecond}
		for name, wait := range waits {
			job := r.job(name, "10 * * * *", failing)
			job.Retry = scheduler.Retry{Times: 5, Wait: wait}
			r.add(job)
		}
		c.SleepTo(15 * time.Minute)

		by := map[string][]record{}
		for _, run := range c.records() {
			by[run.Job] = append(by[run.Job], run)
		}
		for name, wait := range waits {
			if len(by[name]) != 6 {
				t.Fatalf("%d attempts, want 6", len(by[name]))
			}
			if wait == 0 {
				wait = time.Second
			}
			for i, pause := range pauses(by[name]) {
				if low := wait << i; pause < low || pause > 2*low { // recorded times are rounded
					t.Errorf("%s: pause %d was %v, want %v to %v", name, i+1, pause, low, 2*low)
				}
				want := by[name][0].Run
				want.Attempt = i + 1
				if by[name][i].Run != want {
					t.Errorf("attempt %d is %v", i+1, by[name][i].Run)
				}
			}
		}
		retried := r.logged(zapcore.WarnLevel, "attempt failed, another follows")
		failed := r.logged(zapcore.ErrorLevel, "run failed")
		if len(retried) != 10 || len(failed) != 2 || failed[0].ContextMap()["error"] != "boom" {
			t.Errorf("logged %d retries and %v, want 10 and 2 errors", len(retried), failed)
		}
		for _, line := range retried {
			if took := line.ContextMap()["took"].(time.Duration); took > time.Millisecond {
				t.Errorf("an attempt of a moment took %v", took)
			}
		}
	})
}

func TestPanic_StopsNothingElse(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		r := c.leader("a")
		r.add(r.job("panics", "*/10 * * * * *", func(context.Context, int) error { panic("ouch") }))
		r.add(r.job("exits", "*/10 * * * * *", func(context.Context, int) error {
			runtime.Goexit()
			return nil
		}))
		r.add(r.job("works", "*/10 * * * * *", quick))
		term := r.leads()
		c.SleepTo(25 * time.Second)
		wantEqual(t, "ran", c.ran(), []string{
			"exits 10s@10s", "panics 10s@10s", "works 10s@10s",
			"exits 20s@20s", "panics 20s@20s", "works 20s@20s",
		})
		if term != r.leads() {
			t.Error("the term ended")
		}

		failed := r.logged(zapcore.ErrorLevel, "run failed")
		if len(failed) != 4 {
			t.Fatalf("logged %v, want 4 failed runs", failed)
		}
		for _, entry := range failed {
			fields := entry.ContextMap()
			stack, _ := fields["stack"].(string)
			switch fields["job"] {
			case "panics":
				if fields["error"] != "scheduler: the run panicked: ouch" ||
					!strings.Contains(stack, "run_test.go") {
					t.Errorf("logged %v", fields)
				}
			case "exits":
				if fields["error"] != "scheduler: the run called runtime.Goexit" || stack != "" {
					t.Errorf("logged %v", fields)
				}
			}
		}
		if err := r.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
