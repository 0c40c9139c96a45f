package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

func TestShutdown_NamesTheRunsItCannotWaitFor(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		c.opts = append(c.opts, election.WithDrainTimeout(time.Minute)) // longer than the runs
		r := c.leader("a")
		slow := r.job("slow", "*/10 * * * * *", lasting(25*time.Second))
		slow.Overlap = scheduler.Allow
		r.add(slow)
		c.SleepTo(22 * time.Second)

		why := errors.New("no more time")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, why)
		defer cancel()
		err := r.Shutdown(ctx)
		want.Err(t, err, why)
		want.Text(t, err, "2 runs", "slow@946771210000 for 15s, slow@946771220000 for 5s")

		if err := r.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if got := c.at(now()); got != "45s" {
			t.Errorf("the second call returned at %v, the last run at 45s", got)
		}
		waits := r.logged(zapcore.InfoLevel, "shutting down: waiting for runs to return, and for their ends to be stored")
		if len(waits) != 1+4 { // in 3 s and in 20 s
			t.Fatalf("logged %v", waits)
		}
		first, second := waits[0].ContextMap(), waits[1].ContextMap()
		if fmt.Sprint(first["running"]) != "[slow@946771210000 for 12.1s slow@946771220000 for 2.1s]" ||
			c.at(first["until"].(time.Time)) != "25s" || c.at(second["until"].(time.Time)) != "1m25s" { // the drain timeout

			t.Errorf("logged %v, then %v", first, second)
		}
		for _, run := range c.records() {
			if run.cause != nil {
				t.Errorf("%s was canceled: %v", run.Key(), run.cause)
			}
		}
		if err := r.Shutdown(ctx); err != nil {
			t.Errorf("nothing was under way, got %v", err)
		}
	})
}

// Lets the race detector find a run that changes while its name is read: only the run's own lock orders the two.
func TestShutdown_NamesARunThatTriesAgain(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		r := c.leader("a")
		job := r.job("job", "10 * * * * *", func(_ context.Context, call int) error {
			if call < 3 {
				return errBoom
			}
			time.Sleep(20 * time.Second)
			return nil
		})
		job.Retry = scheduler.Retry{Times: 5, Wait: 100 * time.Millisecond}
		r.add(job)
		time.Sleep(15 * time.Second) // without synctest.Wait, which would order them
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		want.Text(t, r.Shutdown(ctx), "job@946771210000")
	})
}

func TestShutdown_HoldsForLaterTerms(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		r := c.idle("a")
		r.add(r.job("job", "* * * * * *", quick))
		c.must(r.Shutdown(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c.must(r.elector.Run(ctx))
		wantEqual(t, "ran", c.ran(), nil)
		want.Text(t, r.Add(r.job("late", "@daily", quick)), "shut down")
		if err := r.Remove("job"); err != nil {
			t.Error(err)
		}
	})
}

// Two runs have returned, but their ends are not stored when the time is over. If the process ended now, they would be lost.
func TestShutdown_SaysThatAnEndIsNotStored(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		job := a.job("job", "20,21 * * * * *", lasting(2*time.Second))
		job.Overlap = scheduler.Allow
		a.add(job)
		c.SleepTo(21500 * time.Millisecond)
		a.links.Hang()
		c.SleepTo(23500 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := a.Shutdown(ctx); err == nil {
			t.Errorf("no error, and its record says %q", c.idle("b").states("job")["20s"])
		}
		c.SleepTo(35 * time.Second) // it gives up
		if lines := a.logs.FilterMessageSnippet("failed to record the end of a run").All(); len(lines) != 2 {
			t.Errorf("logged %v", lines)
		}
	})
}

// While the leader waits for a run, a job with nothing under way is removed, and another one triggered.
func TestShutdown_JobsChangeWhileTheLeaderDrains(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "*/10 * * * * *", lasting(8*time.Second)), a.job("other", "@hourly", quick), a.job("a", "@hourly", quick))
		c.SleepTo(12 * time.Second)
		a.stop()
		time.Sleep(time.Second)
		c.must(errors.Join(a.Remove("other"), a.Trigger(t.Context(), "a")))
		<-a.ended
		wantEqual(t, "ran", c.ran(), []string{"job 10s@10s"})
		if got := a.states("job")["10s"]; got != scheduler.StateOK {
			t.Errorf("recorded %q", got)
		}
	})
}

// While the leader waits for its last run, the nodes restart with their data, one after the other, as in an upgrade of Redis.
func TestShutdown_StoresAnEndAlthoughAllNodesHaveRestarted(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		c.opts = append(c.opts, election.WithDrainTimeout(5*time.Minute)) // longer than the run
		a := c.leader("a")
		a.add(a.job("job", "*/10 * * * * *", lasting(4*time.Minute)), a.job("other", "@hourly", quick))
		c.SleepTo(12 * time.Second)
		a.stop()
		for i, at := range []time.Duration{20, 80, 140} {
			c.SleepTo(at * time.Second)
			c.Restart(i)
		}
		<-a.ended
		if got := a.states("job")["10s"]; got != scheduler.StateOK {
			t.Errorf("recorded %q", got)
		}
	})
}

// The Locker is closed during a run, as by a defer in the wrong order: the end of the run can never be stored.
func TestShutdown_DoesNotWaitForAClosedLocker(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, stopped := c.idle("a"), make(chan error, 1)
		go func() { stopped <- a.elector.Run(context.Background()) }() // ends when the Locker is closed, and is received below
		a.leads()
		a.add(a.job("job", "0 * * * * *", lasting(3*time.Second)))
		c.SleepTo(62 * time.Second)
		_ = a.elector.Locker().Close(t.Context()) // the error names the lease
		want.Err(t, <-stopped, redlock.ErrClosed)
		if at := c.At(time.Now()); at > 64*time.Second {
			t.Errorf("Run has returned at %v, and the run at 63s", at)
		}
	})
}
