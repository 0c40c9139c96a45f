package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/scheduler"
)

// A request that nobody could carry out for two hours is refused once, although the job ticks between the leader's polls. The leader
// lacks the job until then.
func TestVerbs_AnExpiredRerunIsRefusedOnce(t *testing.T) {
	long(t)
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "* * * * * *", quick))
		c.SleepTo(time.Minute)
		a.leaves()
		b.takesOver()
		b.add(b.job("other", "@yearly", quick))
		c.must(b.Rerun(t.Context(), "job", c.instant(30*time.Second)))
		c.SleepTo(3 * time.Hour)
		b.add(b.job("job", "* * * * * *", quick))
		c.SleepTo(3*time.Hour + 30*time.Second)
		history, err := b.History(t.Context(), "job", 50)
		c.must(err)
		n := 0
		for _, r := range history {
			if r.Rerun {
				n++
			}
		}
		if n != 1 {
			t.Errorf("30 s after the job was added, %d rows say that the rerun was refused", n)
		}
	})
}

// A run that lasts longer than two hours has an outcome, too.
func TestVerbs_RerunAndWaitOfALongRun(t *testing.T) {
	for _, lasts := range []time.Duration{100 * time.Minute, 150 * time.Minute} {
		t.Run(lasts.String(), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a, b := c.leader("a"), c.idle("b")
				a.add(a.job("job", "0 1 0 * * *", func(_ context.Context, call int) error {
					if call > 1 {
						time.Sleep(lasts)
					}
					return nil
				}))
				c.SleepTo(2 * time.Minute)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Hour)
				defer cancel()
				r, err := b.RerunAndWait(ctx, "job", c.instant(time.Minute))
				if err != nil || r.State != scheduler.StateOK {
					t.Errorf("%+v, %v; the history has %q", r, err, a.rows("job"))
				}
			})
		})
	}
}

// The nodes' clocks are set back while a caller waits for a rerun.
func TestVerbs_RerunAndWaitOverASetBack(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		c.jumpAll(3, time.Hour)
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "0 */2 * * * *", func(_ context.Context, call int) error {
			if call > 1 {
				time.Sleep(50 * time.Second)
			}
			return nil
		}))
		c.SleepTo(2*time.Minute + 10*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		time.AfterFunc(20*time.Second, func() { c.jumpAll(3, -time.Hour) })
		r, err := b.RerunAndWait(ctx, "job", c.instant(time.Hour+2*time.Minute))
		if err != nil || r.State != scheduler.StateOK {
			t.Errorf("%+v, %v; the history has %q", r, err, a.rows("job"))
		}
	})
}

// A job that is deleted from the nodes has no requests any more. One of the same name starts without them.
func TestVerbs_AForgottenJobIsNotRerun(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b, p := c.leader("a"), c.idle("b"), c.idle("p")
		a.add(a.job("job", "0 1 0 * * *", quick))
		c.SleepTo(2 * time.Minute)
		a.leaves()
		c.must(p.Rerun(t.Context(), "job", c.instant(time.Minute)))
		b.add(b.job("other", "@yearly", quick))
		b.takesOver()
		time.Sleep(10 * time.Minute)
		c.must(p.Forget(t.Context(), "job"))
		b.add(b.job("job", "0 30 12 * * *", quick)) // another job, which has no tick at 1m
		time.Sleep(10 * time.Minute)
		if n := len(c.records()); n != 1 {
			t.Errorf("ran %v", c.ran())
		}
	})
}

// Somebody runs the ticks of a night again. What the leader writes with each tick does not grow with that.
func TestVerbs_RerunsAreBounded(t *testing.T) {
	long(t)
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "* * * * * *", func(context.Context, int) error { return errors.New(strings.Repeat("x", 1000)) }))
		c.SleepTo(10 * time.Minute)
		c.must(a.Pause(t.Context(), "job"))
		for i := range 500 {
			if _, err := a.RerunAndWait(t.Context(), "job", c.instant(time.Duration(i+10)*time.Second)); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(c.Node(0).HGet(hash, "job")); n > 100_000 {
			t.Errorf("the state of the job has %d bytes after 500 reruns", n)
		}
	})
}

// One request makes one run, although the job is deleted and added again before the nodes have forgotten the request.
func TestVerbs_OneRunOfARequestOverAForget(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		c.deaf(3)
		a, p := c.leader("a"), c.idle("p")
		job := a.job("job", "0 1 0 * * *", quick)
		a.add(job)
		c.SleepTo(2 * time.Minute)
		if _, err := p.RerunAndWait(t.Context(), "job", c.instant(time.Minute)); err != nil {
			t.Fatal(err)
		}
		c.must(a.Remove("job"))
		time.Sleep(time.Second)
		c.must(p.Forget(t.Context(), "job"))
		a.add(job)
		time.Sleep(20 * time.Minute)
		if n := len(c.records()); n != 2 {
			t.Errorf("ran %v", c.ran())
		}
	})
}

// One request makes one run, although the nodes' clocks are set back by some seconds just after it.
func TestVerbs_OneRunOfARequestOverASetBack(t *testing.T) {
	for what, ask := range asksForARun {
		for _, by := range []time.Duration{4 * time.Second, 8 * time.Second, 30 * time.Second} {
			t.Run(fmt.Sprint(what, " ", by), func(t *testing.T) {
				withShortLeases(t, 3, func(t *testing.T, c *cluster) {
					c.deaf(3)
					a, p := c.leader("a"), c.idle("p")
					a.add(a.job("job", "0 1 0 * * *", quick))
					c.SleepTo(2 * time.Minute)
					c.must(ask(c, p))
					bubble.Await(t, "the run", time.Minute, func() bool { return len(c.records()) == 2 })
					time.Sleep(100 * time.Millisecond)
					c.jumpAll(3, -by)
					time.Sleep(20 * time.Minute)
					if n := len(c.records()); n != 2 {
						t.Errorf("ran %v", c.ran())
					}
				})
			})
		}
	}
}
