package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/scheduler"
)

// The leader is asked to stop, and its run goes on until the drain timeout. Somebody cancels the run.
func TestVerbs_CancelOfARunWhoseLeaderDrains(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprint("at least once ", again), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				c.opts = []election.Option{election.WithDrainTimeout(5 * time.Minute)}
				a, b := c.leader("a"), c.idle("b")
				addBoth(a, b, "0 1 0 * * *", untilDone(0), func(job *scheduler.Job) { job.AtLeastOnce = again })
				c.SleepTo(62 * time.Second)
				a.stop()
				c.SleepTo(70 * time.Second)
				c.must(b.Cancel(t.Context(), "job"))
				c.SleepTo(80 * time.Second)
				run := c.records()[0]
				if run.end.IsZero() || !errors.Is(run.cause, scheduler.ErrCanceled) {
					t.Errorf("10 s after the cancel: ended %v, cause %v", !run.end.IsZero(), run.cause)
				}
				c.SleepTo(20 * time.Minute)
				run = c.records()[0]
				if rows := b.rows("job"); !strings.HasPrefix(rows[len(rows)-1], "1m0s canceled 1") {
					t.Errorf("the run ended at %v by %v, recorded %q", c.At(run.end), run.cause, rows)
				}
			})
		})
	}
}

// The first write with the cancel is not stored, or its reply is lost. The run has ended by then.
func TestVerbs_CancelWhileAWriteFails(t *testing.T) {
	for _, lost := range []string{"the write", "the reply"} {
		t.Run(lost, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a, b := c.leader("a"), c.idle("b")
				addBoth(a, b, "0 1 0 * * *", untilDone(0))
				c.SleepTo(62 * time.Second)
				b.status("job") // connects it
				var failing atomic.Bool
				failing.Store(true)
				for node := range 3 {
					c.SetPreHook(node, func(p *server.Peer, command string, args ...string) bool {
						if !failing.Load() || !isAbout("job", command, args) {
							return false
						}
						if lost == "the reply" {
							a.links.DropReplies()
							return false
						}
						p.WriteError(noMemory)
						return true
					})
				}
				c.must(b.Cancel(t.Context(), "job"))
				time.Sleep(300 * time.Millisecond)
				failing.Store(false)
				a.links.Heal()
				c.SleepTo(10 * time.Minute)
				if rows := b.rows("job"); len(rows) != 1 || !strings.HasPrefix(rows[0], "1m0s canceled 1") || b.status("job").Failures != 0 {
					t.Errorf("recorded %q, %d failures", rows, b.status("job").Failures)
				}
			})
		})
	}
}

// The leader does not learn of a cancel before the retry begins that it was made for.
func TestVerbs_CancelInARetryPauseThatIsLearnedLate(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		c.deaf(3)
		a, p := c.leader("a"), c.idle("p")
		job := a.job("job", "0 1 0 * * *", func(ctx context.Context, call int) error {
			if call == 1 {
				return errBoom
			}
			<-ctx.Done()
			return ctx.Err()
		})
		job.Retry = scheduler.Retry{Times: 5, Wait: time.Second}
		a.add(job)
		c.SleepTo(60*time.Second + 300*time.Millisecond)
		c.must(p.Cancel(t.Context(), "job"))
		c.SleepTo(5 * time.Minute)
		if rows := p.rows("job"); len(rows) != 1 || !strings.HasPrefix(rows[0], "1m0s canceled") {
			t.Errorf("recorded %q, ran %v", rows, c.ran())
		}
	})
}

// The same for the repeat of a run whose processes died.
func TestVerbs_CancelInThePauseBeforeARepeatThatIsLearnedLate(t *testing.T) {
	long(t)
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		c.deaf(3)
		_, p := c.deadly(time.Second)
		n := len(c.records())
		c.must(p.Cancel(t.Context(), "job"))
		if len(c.records()) != n {
			t.Fatal("the repeat has begun")
		}
		time.Sleep(5 * time.Minute)
		runs := c.records()
		last := runs[len(runs)-1]
		if rows := p.rows("job"); !strings.Contains(rows[len(rows)-1], "canceled") {
			t.Errorf("5 minutes later: recorded %q, the run of %s began at %v and ended %v", rows, last.by, c.At(last.start), !last.end.IsZero())
		}
	})
}

// A cancel is not lost because the node that the caller asked has another clock than the leader's median.
func TestVerbs_CancelJustAfterTheStart(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		c.Offset(1, -900*time.Millisecond)
		a, p := c.leader("a"), c.idle("p")
		a.add(a.job("job", "0 1 0 * * *", untilDone(0)))
		c.SleepTo(60*time.Second + 300*time.Millisecond)
		p.links.Cut(2)
		c.must(p.Cancel(t.Context(), "job")) // it has seen the run
		c.SleepTo(10 * time.Minute)
		if rows := a.rows("job"); !strings.HasPrefix(rows[len(rows)-1], "1m0s canceled") {
			t.Errorf("recorded %q, ran %v", rows, c.ran())
		}
	})
}

// A run goes on when its job was removed. Cancel ends it nevertheless.
func TestVerbs_CancelOfARemovedJob(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, p := c.leader("a"), c.idle("p")
		a.add(a.job("job", "0 1 0 * * *", untilDone(0)))
		c.SleepTo(70 * time.Second)
		c.must(a.Remove("job"))
		c.SleepTo(80 * time.Second)
		if s := p.status("job"); !s.Running {
			t.Fatalf("status %+v", s)
		}
		if err := p.Cancel(t.Context(), "job"); err != nil {
			t.Error(err)
		}
	})
}

// A run is canceled. A later run of the job, whose processes die, is not canceled with it by a leader that still finds the request.
func TestVerbs_ACancelEndsNoLaterRun(t *testing.T) {
	long(t)
	withLongMaxTTL(t, func(t *testing.T, c *cluster) {
		for _, node := range []int{1, 2} { // the leader gets one notice, and so polls once
			c.Deny(node, "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE")
		}
		all := []*replica{c.leader("a"), c.idle("b"), c.idle("c"), c.idle("d")}
		for _, r := range all {
			r.addDeadly("0 1,2 0 * * *", 10*time.Second)
		}
		c.SleepTo(70 * time.Second)
		c.must(all[1].Cancel(t.Context(), "job"))
		c.SleepTo(121 * time.Second)
		if n := len(c.records()); n != 2 {
			t.Fatalf("ran %v", c.ran())
		}
		third, p := c.dies(all[:3]...)
		third.leaves()
		all[3].takesOver()
		time.Sleep(time.Minute)
		if runs := c.records(); len(runs) < 4 {
			t.Errorf("the run of 2m is not repeated, recorded %q", p.rows("job"))
		}
	})
}

// With Allow, an older run is under way when a newer one has ended.
func TestVerbs_CancelOfTheOlderOfTwoRuns(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, p := c.leader("a"), c.idle("p")
		job := a.job("job", "0 1,2 0 * * *", func(ctx context.Context, call int) error {
			if call == 1 {
				<-ctx.Done()
			}
			return ctx.Err()
		})
		job.Overlap = scheduler.Allow
		a.add(job)
		c.SleepTo(150 * time.Second)
		if err := p.Cancel(t.Context(), "job"); err != nil {
			t.Error(err)
		}
		c.SleepTo(160 * time.Second)
		if run := c.records()[0]; !errors.Is(run.cause, scheduler.ErrCanceled) {
			t.Errorf("the run of 1m is under way: %v", run.end.IsZero())
		}
	})
}

// A run that was cut off waits for the end of a pause, or for the next leader, to run again.
func TestVerbs_CancelOfARunThatWasCutOff(t *testing.T) {
	for _, paused := range []bool{false, true} {
		t.Run(fmt.Sprint("paused ", paused), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a, b, p := c.leader("a"), c.idle("b"), c.idle("p")
				addBoth(a, b, "0 1 0 * * *", untilDone(0), atLeastOnce)
				c.SleepTo(70 * time.Second)
				if paused {
					c.must(p.Pause(t.Context(), "job"))
				}
				a.leaves()
				if paused {
					b.takesOver()
				}
				c.SleepTo(3 * time.Minute)
				if err := p.Cancel(t.Context(), "job"); err != nil {
					t.Error(err)
				}
				if paused {
					c.must(p.Resume(t.Context(), "job"))
				} else {
					b.takesOver()
				}
				c.SleepTo(10 * time.Minute)
				if len(c.records()) != 1 {
					t.Errorf("ran %v", c.ran())
				}
			})
		})
	}
}

// No record ends before it starts.
func TestVerbs_ACancelOfAWaitingRepeatHasAnEndAfterItsStart(t *testing.T) {
	long(t)
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		_, p := c.deadly(30 * time.Second)
		c.must(p.Cancel(t.Context(), "job"))
		time.Sleep(5 * time.Minute)
		history, err := p.History(t.Context(), "job", 50)
		c.must(err)
		for _, r := range history {
			if r.End.Before(r.Start) {
				t.Errorf("recorded %s", c.row(r))
			}
		}
	})
}

// A job has five attempts by default. Its leader loses the lease again and again, and no process dies.
func TestVerbs_MaxAttemptsCountsProcesses(t *testing.T) {
	long(t)
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a")
		job := a.job("job", "0 1 0 * * *", untilDone(0))
		job.AtLeastOnce = true
		a.add(job)
		c.SleepTo(61 * time.Second)
		for range 6 {
			a.links.Cut()
			time.Sleep(20 * time.Second)
			a.links.Heal()
			time.Sleep(10 * time.Minute)
		}
		if s := a.states("job")["1m0s"]; s == scheduler.StateLost {
			t.Errorf("recorded %q", a.rows("job"))
		}
	})
}

// Somebody cancels a run whose leader has died, while the next leader, of an older version, does not have the job. Then it gets it.
func TestVerbs_ACancelBeforeTheLeaderHasTheJob(t *testing.T) {
	long(t)
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a, b, p := c.leader("a"), c.idle("b"), c.idle("p")
		job := func(r *replica) scheduler.Job {
			job := r.job("job", "0 1 0 * * *", untilDone(0))
			job.AtLeastOnce = true
			return job
		}
		a.add(job(a))
		b.add(b.job("other", "@yearly", quick))
		c.SleepTo(70 * time.Second)
		a.links.Cut() // a dies
		b.takesOver()
		c.SleepTo(2 * time.Minute)
		c.must(p.Cancel(t.Context(), "job"))
		c.SleepTo(3*time.Minute + time.Second)
		b.add(job(b))
		c.SleepTo(20 * time.Minute)
		if rows := p.rows("job"); len(c.records()) != 1 || !strings.Contains(rows[len(rows)-1], "canceled") {
			t.Errorf("ran %v, recorded %q", c.ran(), rows)
		}
	})
}
