package scheduler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// recorder records the calls of hooks, and calls the Scheduler from within them.
type recorder struct {
	mu    sync.Mutex // guards lines
	lines []string
	s     *scheduler.Scheduler
}

func (r *recorder) add(format string, args ...any) {
	if r.s != nil {
		_ = r.s.Remove("nobody's")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *recorder) reported() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

func (r *recorder) hooks() scheduler.Hooks {
	return scheduler.Hooks{
		Started: func(run scheduler.Run) { r.add("%s started, attempt %d", run.Job, run.Attempt) },
		Finished: func(record scheduler.Record) {
			r.add("%s finished: %s, attempt %d, %q", record.Job, record.State, record.Attempt, record.Err)
		},
		Overrun: func(run scheduler.Run) { r.add("%s overran, attempt %d", run.Job, run.Attempt) },
		Retrying: func(run scheduler.Run, err error) {
			r.add("%s retrying after attempt %d: %v", run.Job, run.Attempt, err)
		},
		Panicked: func(run scheduler.Run, value any, stack []byte) {
			r.add("%s panicked in attempt %d: %v, at hooks_test.go: %v", run.Job, run.Attempt, value,
				bytes.Contains(stack, []byte("hooks_test.go")))
		},
		Unclaimed: func(job string, tick time.Time, err error) {
			r.add("%s unclaimed at second %d, no quorum: %v", job, tick.Second(), errors.Is(err, redlock.ErrNoQuorum))
		},
		Fenced: func(token, by uint64) { r.add("fenced by %d more", by-token) },
		Missed: func(job string, ticks int, reason string) { r.add("%s missed %d: %s", job, ticks, reason) },
	}
}

func TestHooks_TellOfEveryRun(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		reported := &recorder{}
		r := c.leader("a", scheduler.WithHooks(reported.hooks()))
		reported.s = r.Scheduler
		job := r.job("job", "10,20,25 * * * * *", func(_ context.Context, call int) error {
			switch call {
			case 1:
				return errors.New("once")
			case 3:
				time.Sleep(8 * time.Second)
				panic("boom")
			}
			return nil
		})
		job.Retry = scheduler.Retry{Times: 1, Wait: time.Second}
		r.add(job)
		c.SleepTo(40 * time.Second)
		want := []string{
			"job started, attempt 1", "job retrying after attempt 1: once", `job finished: ok, attempt 2, ""`,
			"job started, attempt 1", `job finished: skipped, attempt 0, "a run was under way"`,
			"job panicked in attempt 1: boom, at hooks_test.go: true",
			"job retrying after attempt 1: scheduler: the run panicked: boom", `job finished: ok, attempt 2, ""`,
		}
		wantEqual(t, "reported", reported.reported(), want)
	})
}

func TestHooks_TellOfMissedTicks(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		reported := &recorder{}
		a, b := c.leader("a"), c.idle("b", scheduler.WithHooks(reported.hooks()))
		addBoth(a, b, "*/10 * * * * *", quick)
		c.SleepTo(12 * time.Second)
		a.leaves()
		c.SleepTo(55 * time.Second)
		b.takesOver()
		c.SleepTo(56 * time.Second)
		got := reported.reported()
		const reason = "no leader from 2000-01-02 00:00:09 to 2000-01-02 00:00:55" // from when the last leader was heard from
		if len(got) != 3 || !slices.Contains(got, "job missed 3: "+reason) {
			t.Errorf("reported %q", got)
		}
	})
}

func TestHooks_TellOfTicksThatCannotBeClaimed(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		reported := &recorder{}
		r := c.leader("a", scheduler.WithHooks(reported.hooks()))
		r.add(r.job("job", "*/10 * * * * *", quick))
		c.SleepTo(19 * time.Second)
		r.links.Cut(0, 1)
		c.SleepTo(22 * time.Second)
		r.links.Heal()
		c.SleepTo(25 * time.Second)
		got := reported.reported()
		ran := []string{"job started, attempt 1", `job finished: ok, attempt 1, ""`}
		if n := len(got); n < 5 || !slices.Equal(got[:2], ran) || !slices.Equal(got[n-2:], ran) {
			t.Fatalf("reported %q", got)
		}
		for _, line := range got[2 : len(got)-2] {
			if line != "job unclaimed at second 20, no quorum: true" {
				t.Errorf("reported %q", line)
			}
		}
	})
}

// Middleware wraps each attempt, the first given outermost, also of triggered runs.
func TestMiddleware_WrapsEachAttempt(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		reported := &recorder{}
		wrap := func(name string) scheduler.Option {
			type work = func(context.Context, scheduler.Run) error
			return scheduler.WithMiddleware(func(next work) work {
				return func(ctx context.Context, run scheduler.Run) error {
					reported.add("%s in %d", name, run.Attempt)
					defer reported.add("%s out", name)
					return next(ctx, run)
				}
			})
		}
		r := c.leader("a", wrap("outer"), wrap("inner"))
		job := r.job("job", "10 * * * * *", func(_ context.Context, call int) error {
			if call == 1 {
				return errors.New("once")
			}
			return nil
		})
		job.Retry = scheduler.Retry{Times: 1, Wait: time.Second}
		r.add(job)
		c.SleepTo(20 * time.Second)
		wantEqual(t, "reported", reported.reported(), []string{
			"outer in 1", "inner in 1", "inner out", "outer out", "outer in 2", "inner in 2", "inner out", "outer out",
		})
	})
}

func TestAddRemove_FromManyGoroutines(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		r := c.leader("a")
		var wg sync.WaitGroup
		for n := range 20 {
			wg.Go(func() {
				name := fmt.Sprint("job ", n)
				for range 10 {
					if err := r.Add(r.job(name, "* * * * * *", quick)); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Duration(n+1) * 130 * time.Millisecond)
					if err := r.Remove(name); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		seen := make(map[string]bool)
		for _, run := range c.records() {
			if seen[run.Key()] {
				t.Errorf("%s ran twice", run.Key())
			}
			seen[run.Key()] = true
		}
	})
}
