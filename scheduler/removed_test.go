package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// A job is removed while a node is away, and added again before it is back. The state of the removed one stays what it was: a run
// under way is repeated by the next leader.
func TestRemoved_ThenAddedWhileANodeIsAway(t *testing.T) {
	for try := range 6 {
		t.Run(fmt.Sprint(try), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a, b := c.leader("a"), c.idle("b")
				c.SleepTo(10 * time.Second)
				job := func(r *replica) scheduler.Job {
					job := r.job("job", "0 * * * * *", func(ctx context.Context, call int) error {
						if r == a && call > 1 {
							<-ctx.Done() // it is under way when a dies
							return ctx.Err()
						}
						return nil
					})
					job.AtLeastOnce, job.CatchUp = true, scheduler.CatchUpAll(time.Hour)
					return job
				}
				a.add(job(a))
				b.add(job(b))
				c.SleepTo(61 * time.Second)
				c.Kill(2)
				c.SleepTo(70 * time.Second)
				if err := a.Remove("job"); err != nil {
					t.Fatal(err)
				}
				c.SleepTo(80 * time.Second)
				a.add(job(a))                // with calls from 1
				c.SleepTo(185 * time.Second) // runs for 2m and 3m: the latter is under way
				c.Restart(2)
				c.SleepTo(200 * time.Second)
				if s := a.status("job"); !s.Running {
					t.Errorf("the run under way is not shown: %+v", s)
				}
				a.links.Cut() // a dies
				b.campaign()
				b.leads()
				c.SleepTo(10*time.Minute + 30*time.Second)
				seen := make(map[string]bool)
				for _, run := range c.records() {
					if run.by == "b" {
						seen[c.at(run.Tick)] = true
					}
				}
				if !seen["3m0s"] {
					t.Errorf("the run for 3m is not run again; ran %v", c.ran())
				}
			})
		})
	}
}

// A job that is forgotten meanwhile does not come back.
func TestRemoved_ThenForgottenWhileANodeIsAwayFromItsLeader(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "0 * * * * *", quick))
		c.SleepTo(61 * time.Second)
		a.links.Cut(2)
		c.SleepTo(70 * time.Second)
		if err := a.Remove("job"); err != nil {
			t.Fatal(err)
		}
		c.SleepTo(80 * time.Second)
		if err := b.Forget(t.Context(), "job"); err != nil { // all nodes answer
			t.Fatal(err)
		}
		a.links.Heal(2)
		c.SleepTo(100 * time.Second)
		for n := range 3 {
			if e := c.Node(n).HGet(hash, "job"); e != "" {
				t.Errorf("%d %q", n, e)
			}
		}
	})
}

// And a trigger that was obeyed is not obeyed again.
func TestRemoved_ThenAddedAndTriggeredWhileANodeIsAway(t *testing.T) {
	for try := range 6 {
		t.Run(fmt.Sprint(try), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a, b := c.leader("a"), c.idle("b")
				c.SleepTo(10 * time.Second)
				a.add(a.job("job", "@every 24h", quick))
				b.add(b.job("job", "@every 24h", quick))
				c.SleepTo(61 * time.Second)
				c.Kill(2)
				c.SleepTo(70 * time.Second)
				if err := a.Remove("job"); err != nil {
					t.Fatal(err)
				}
				c.SleepTo(80 * time.Second)
				a.add(a.job("job", "@every 24h", quick))
				c.SleepTo(90 * time.Second)
				if err := a.Trigger(t.Context(), "job"); err != nil {
					t.Fatal(err)
				}
				c.SleepTo(100 * time.Second)
				c.Restart(2)
				c.SleepTo(200 * time.Second)
				a.stop() // a graceful handover
				<-a.ended
				b.campaign()
				b.leads()
				c.SleepTo(10 * time.Minute)
				if runs := c.records(); len(runs) != 1 {
					t.Errorf("ran %v", c.ran())
				}
			})
		})
	}
}
