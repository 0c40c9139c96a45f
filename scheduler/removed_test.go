package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// A job is removed while a node does not answer, and added again before it does. The job keeps its state: the next leader repeats
// a run under way.
func TestRemoved_ThenAddedWhileANodeIsAway(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		c.SleepTo(10 * time.Second)
		job := func(r *replica) scheduler.Job {
			job := r.job("job", "0 * * * * *", func(ctx context.Context, call int) error {
				if r == a && call > 1 {
					<-ctx.Done() // the run is under way when a dies
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
		c.must(a.Remove("job"))
		c.SleepTo(80 * time.Second)
		a.add(job(a))                // with calls from 1
		c.SleepTo(185 * time.Second) // runs for 2m and 3m; the latter is under way
		c.Restart(2)
		c.SleepTo(200 * time.Second)
		if s := a.status("job"); !s.Running {
			t.Errorf("the run under way is not shown: %+v", s)
		}
		a.links.Cut() // a dies
		b.takesOver()
		c.SleepTo(5 * time.Minute)
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
}

// A job that is forgotten meanwhile does not come back.
func TestRemoved_ThenForgottenWhileANodeIsAwayFromItsLeader(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "0 * * * * *", quick))
		c.SleepTo(61 * time.Second)
		a.links.Cut(2)
		c.SleepTo(70 * time.Second)
		c.must(a.Remove("job"))
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

// A leader records on the nodes when all of its jobs are written under its ballot, and until then no job can be forgotten. It
// gets there whichever jobs are added and removed, and whichever nodes lose their data.
func TestRemoved_JobsCanBeForgottenAfterAnyChanges(t *testing.T) {
	for n := range *removedPlans {
		seed := 12 + n/3 // each plan three times: the order in which nodes answer differs
		t.Run(fmt.Sprintf("%d, %d", seed, n%3), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			withShortLeases(t, 3, func(t *testing.T, c *cluster) {
				a, b := c.leader("a"), c.idle("b")
				names := []string{"one", "two", "three", "four"}
				known := make(map[string]bool) // to replica a
				for range 40 {
					name := names[random.IntN(len(names))]
					switch random.IntN(8) {
					case 0:
						c.Wipe(random.IntN(3))
					case 1:
						a.links.Cut(random.IntN(3))
					case 2:
						a.links.Heal(0, 1, 2)
					case 3: // removed before its state was read from the nodes
						a.links.Cut(0, 1)
						a.add(a.job("unstored", "* * * * * *", quick))
						time.Sleep(time.Second)
						c.must(a.Remove("unstored"))
						time.Sleep(time.Second)
						a.links.Heal(0, 1)
					default:
						if known[name] {
							c.must(a.Remove(name))
						} else {
							a.add(a.job(name, "* * * * * *", quick))
						}
						known[name] = !known[name]
					}
					if random.IntN(2) == 0 { // the next change comes at once, or while the last one is being written
						time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond)
					}
				}
				a.links.Heal(0, 1, 2)
				time.Sleep(time.Minute)
				for _, name := range names {
					err := b.Forget(t.Context(), name)
					if known[name] != errors.Is(err, scheduler.ErrJobInUse) || !known[name] && err != nil {
						t.Errorf("%s, which the leader has: %t: %v", name, known[name], err)
					}
				}
			})
		})
	}
}
