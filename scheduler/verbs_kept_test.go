package scheduler_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redlockfx/redlockfx/scheduler"
)

// A tick that a changed spec has kept obeys the same rules as any other tick that has come and has not begun.
func TestVerbs_ATickThatAChangedSpecHasKept(t *testing.T) {
	none := func(*scheduler.Job) {}
	missed := func(t *testing.T, c *cluster, r *replica) {
		t.Helper()
		if s := r.states("job")["1m0s"]; len(c.records()) > 0 || s != scheduler.StateMissed {
			t.Errorf("ran %v, recorded %q %q", c.ran(), s, r.rows("job"))
		}
	}
	t.Run("and nobody leads during its window", func(t *testing.T) {
		inBubble(t, 3, func(t *testing.T, c *cluster) {
			b, next, _ := c.keeps(none)
			b.leaves()
			last := next("c", "0 1 0,12 * * *")
			c.SleepTo(3 * time.Hour)
			last.takesOver()
			c.SleepTo(4 * time.Hour)
			missed(t, c, last)
		})
	})
	t.Run("and it is late", func(t *testing.T) {
		inBubble(t, 3, func(t *testing.T, c *cluster) {
			b, next, _ := c.keeps(func(job *scheduler.Job) { job.CatchUp = scheduler.CatchUpLast(10 * time.Hour) })
			b.leaves()
			last := next("c", "0 1 0,12 * * *")
			c.SleepTo(3 * time.Hour)
			last.takesOver()
			c.SleepTo(4 * time.Hour)
			if runs := c.records(); len(runs) != 1 || !runs[0].CaughtUp {
				t.Errorf("ran %+v", runs)
			}
		})
	})
	t.Run("and the job is paused", func(t *testing.T) {
		inBubble(t, 3, func(t *testing.T, c *cluster) {
			b, _, _ := c.keeps(none)
			c.must(b.Pause(t.Context(), "job"))
			c.SleepTo(time.Hour)
			missed(t, c, b)
		})
	})
	t.Run("and all jobs are paused", func(t *testing.T) {
		inBubble(t, 3, func(t *testing.T, c *cluster) {
			b, _, _ := c.keeps(none)
			c.must(b.PauseAll(t.Context()))
			c.SleepTo(time.Hour)
			missed(t, c, b)
		})
	})
	t.Run("and a third spec lacks it", func(t *testing.T) {
		inBubble(t, 3, func(t *testing.T, c *cluster) {
			b, next, _ := c.keeps(none)
			b.leaves()
			last := next("c", "0 30 12 * * *")
			last.takesOver()
			c.SleepTo(time.Hour)
			missed(t, c, last)
		})
	})
}

// queuesAKeptTick has a run from 1m to 6m, for which the tick of 2m waits when the spec changes at 3m.
func (c *cluster) queuesAKeptTick(change func(*scheduler.Job)) (a *replica) {
	job := func(r *replica, spec string, work func(context.Context, int) error) scheduler.Job {
		job := r.job("job", spec, work)
		job.Overlap = scheduler.Queue
		change(&job)
		return job
	}
	a = c.leader("a", scheduler.WithHooks(scheduler.Hooks{Changed: func(set scheduler.Change) { // on the loop's goroutine: both at once
		if set.Job == "other" {
			c.must(a.Remove("job"))
			a.add(job(a, "0 1,2 0,12 * * *", quick))
		}
	}}))
	a.add(job(a, "0 1,2 0 * * *", func(ctx context.Context, _ int) error {
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Minute):
		}
		return nil
	}), a.job("other", "@yearly", quick))
	c.SleepTo(3 * time.Minute)
	c.must(a.Pause(c.T.Context(), "other"))
	return a
}

func TestVerbs_AKeptTickThatWaitsForARun(t *testing.T) {
	t.Run("has the times of its run", func(t *testing.T) {
		inBubble(t, 3, func(t *testing.T, c *cluster) {
			a := c.queuesAKeptTick(func(*scheduler.Job) {})
			c.SleepTo(20 * time.Minute)
			wantEqual(t, "ran", c.ran(), []string{"job 1m0s@1m0s", "job 2m0s@6m0s"})
			wantEqual(t, "recorded", a.rows("job"), []string{"1m0s ok 1 1m0s-6m0s ", "2m0s ok 1 6m0s-6m0s "})
			if runs := c.records(); !runs[1].CaughtUp {
				t.Errorf("it waited for four minutes, and is not marked as late: %+v", runs[1].Run)
			}
		})
	})
	t.Run("is not canceled with that run", func(t *testing.T) {
		inBubble(t, 3, func(t *testing.T, c *cluster) {
			a := c.queuesAKeptTick(func(*scheduler.Job) {})
			c.SleepTo(4 * time.Minute)
			c.must(a.Cancel(t.Context(), "job"))
			c.SleepTo(20 * time.Minute)
			wantEqual(t, "ran", c.ran(), []string{"job 1m0s@1m0s", "job 2m0s@4m0s"})
			if s := a.states("job")["2m0s"]; s != scheduler.StateOK {
				t.Errorf("recorded %q", a.rows("job"))
			}
		})
	})
}

// The replies to the write that opens a run are lost, and a majority of nodes restarts, with its data. The leader lives and knows that
// it has not started the run.
func TestVerbs_AnUnstartedRunIsStarted(t *testing.T) {
	for what, ask := range asksForARun {
		t.Run(what, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a, p := c.leader("a"), c.idle("p")
				a.add(a.job("job", "0 1 0 * * *", quick))
				c.SleepTo(2 * time.Minute)
				p.status("job")
				var once atomic.Bool
				for node := range 3 {
					c.SetPreHook(node, func(_ *server.Peer, command string, args ...string) bool {
						if isAbout("job", command, args) && once.CompareAndSwap(false, true) {
							a.links.DropReplies()
						}
						return false
					})
				}
				c.must(ask(c, p))
				time.Sleep(20 * time.Millisecond)
				c.Restart(0)
				c.Restart(1)
				a.links.Heal()
				c.SleepTo(30 * time.Minute)
				if n := len(c.records()); n != 2 || !once.Load() {
					t.Errorf("ran %v, recorded %q", c.ran(), p.rows("job"))
				}
			})
		})
	}
}
