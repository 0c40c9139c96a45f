package scheduler_test

import (
	"context"
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

// b has taken over a run and waits for the first one, which goes on. Then b loses its lease too. The next leader, which is b
// again, runs the tick and does not skip it.
func TestTakeOver_OfOneThatStillHadToWait(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
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
		b.takesOver()
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
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		addBoth(a, b, "@every 3m", lasting(5*time.Second))
		c.SleepTo(182 * time.Second) // all nodes have stored it
		a.links.Cut(2)
		c.SleepTo(188 * time.Second)
		a.links.Cut()
		c.Kill(0)
		b.takesOver()
		c.SleepTo(4 * time.Minute)
		if got := b.states("job"); got["3m0s"] != scheduler.StateOK {
			t.Errorf("recorded %v", got)
		}
		if lines := b.logs.FilterMessageSnippet("is lost").All(); len(lines) > 0 {
			t.Errorf("logged %v", lines)
		}
	})
}
