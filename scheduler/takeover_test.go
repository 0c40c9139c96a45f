package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/scheduler"
)

// depose takes the lease away from the leader, as a person with redis-cli may. Its runs may go on, and write.
func (c *cluster) depose() {
	records.Default.Drop(c.T, election.LockName("x"), c.Raw()[:2]...)
}

// A leader died during two runs, in a build that allows them beside each other. The next leader repeats both, one after the
// other, and replaces neither.
func TestTakeOver_OfTwoRuns(t *testing.T) {
	for _, overlap := range []scheduler.Overlap{scheduler.Skip, scheduler.Queue, scheduler.Replace} {
		t.Run(fmt.Sprint("overlap ", overlap), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a, b := c.leader("a"), c.idle("b")
				first := a.job("job", "0 * * * * *", untilDone(0))
				first.AtLeastOnce, first.Overlap = true, scheduler.Allow
				a.add(first)
				second := b.job("job", "0 * * * * *", lasting(5*time.Second))
				second.AtLeastOnce, second.Overlap = true, overlap
				b.add(second)
				b.campaign()
				c.SleepTo(122 * time.Second)
				a.links.Cut()
				b.leads()
				c.SleepTo(170 * time.Second)
				for _, tick := range []string{"1m0s", "2m0s"} {
					if got := b.states("job")[tick]; got != scheduler.StateOK {
						t.Errorf("%s is %q, ran %v", tick, got, c.ran())
					}
				}
				var returned time.Time
				for _, run := range c.records() {
					if run.by == "b" && run.start.Before(returned) {
						t.Errorf("ran beside each other: %v", c.ran())
					}
					if run.by == "b" {
						returned = run.end
					}
				}
			})
		})
	}
}

// b has taken over a run and waits for the first one, which goes on. Then b loses its lease too. The next leader, which is b
// again, runs the tick and does not skip it.
func TestTakeOver_OfOneThatStillHadToWait(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		for _, r := range []*replica{a, b} {
			job := r.job("job", "@every 3m", func(context.Context, int) error {
				if r == a {
					time.Sleep(90 * time.Second)
				}
				return nil
			})
			job.AtLeastOnce, job.Overlap = true, scheduler.Queue
			r.add(job)
		}
		c.SleepTo(185 * time.Second)
		c.depose()
		b.campaign()
		b.leads()
		c.SleepTo(220 * time.Second)
		c.depose()
		c.SleepTo(350 * time.Second)
		if got := b.states("job"); got["3m0s"] != scheduler.StateOK {
			t.Errorf("recorded %v, ran %v", got, c.ran())
		}
		if runs := c.records(); len(runs) != 2 || runs[1].Attempt < 3 {
			t.Errorf("ran %+v", runs)
		}
	})
}

// One node does not have the end of a run, and one of the two that have it does not answer. The new leader waits for that node
// before it treats the run as lost.
func TestLost_NotWhereANodeKnowsOfTheEnd(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		for _, r := range []*replica{a, b} {
			r.add(r.job("job", "@every 3m", lasting(5*time.Second)))
		}
		c.SleepTo(182 * time.Second) // all nodes have stored it
		a.links.Cut(2)
		c.SleepTo(188 * time.Second)
		a.links.Cut()
		c.Kill(0)
		b.campaign()
		b.leads()
		c.SleepTo(4 * time.Minute)
		if got := b.states("job"); got["3m0s"] != scheduler.StateOK {
			t.Errorf("recorded %v", got)
		}
		if lines := b.logs.FilterMessageSnippet("is lost").All(); len(lines) > 0 {
			t.Errorf("logged %v", lines)
		}
	})
}

// All nodes have restarted one after the other while a run was under way. They have the run only from the leader's later writes.
// Its leader dies, and the next one records the run as lost.
func TestTakeOver_OfARunThatNodesOnlyLearnedOfIsLost(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		rec := &recorder{}
		a, b := c.leader("a"), c.idle("b", scheduler.WithHooks(rec.hooks()))
		for _, r := range []*replica{a, b} {
			job := r.job("job", "@every 3m", func(ctx context.Context, _ int) error {
				if r == a {
					<-ctx.Done()
				}
				return ctx.Err()
			})
			job.AtLeastOnce = true
			r.add(job)
		}
		c.SleepTo(185 * time.Second)
		for node := range 3 {
			c.Restart(node)
			time.Sleep(20 * time.Second)
		}
		a.links.Cut()
		b.campaign()
		b.leads()
		c.SleepTo(350 * time.Second)
		if got := b.states("job")["3m0s"]; got != scheduler.StateLost && got != scheduler.StateOK {
			t.Errorf("recorded %q, running %v", got, b.status("job").Running)
		}
		if reported := strings.Join(rec.reported(), "\n"); strings.Count(reported, "finished:") != 1 {
			t.Errorf("reported %s, ran %v", reported, c.ran())
		}
	})
}

// ended lets a run of a end without node 2 learning of it; then a dies. The job has AtLeastOnce.
func (c *cluster) ended(dead ...int) (b *replica) {
	c.T.Helper()
	a, b := c.leader("a"), c.idle("b")
	for _, r := range []*replica{a, b} {
		job := r.job("job", "0 * * * * *", lasting(5*time.Second))
		job.AtLeastOnce = true
		r.add(job)
	}
	c.SleepTo(62 * time.Second) // all nodes have stored it
	a.links.Cut(2)
	c.SleepTo(68 * time.Second)
	a.links.Cut()
	for _, node := range dead {
		c.Kill(node)
	}
	b.campaign()
	b.leads()
	c.SleepTo(110 * time.Second)
	return b
}

func TestTakeOver_NotOfARunThatHasEnded(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		b := c.ended()
		for range 8 { // whichever two nodes answer first
			if got := b.states("job"); got["1m0s"] != scheduler.StateOK {
				t.Errorf("recorded %v, running %v", got, b.status("job").Running)
			}
		}
		for node := range 3 {
			keys, _ := c.Node(node).HKeys("{redlock}:job:x:job")
			for _, k := range keys {
				if k[:2] == "o:" {
					t.Errorf("node %d: %s", node, k)
				}
			}
		}
	})
}

// One of the nodes that know the end does not answer.
func TestTakeOver_NotOfARunWhoseEndOneNodeKnows(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		b := c.ended(0)
		c.SleepTo(140 * time.Second)
		if got := b.states("job"); got["1m0s"] != scheduler.StateOK {
			t.Errorf("recorded %v", got)
		}
	})
}
