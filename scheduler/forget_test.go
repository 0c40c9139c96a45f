package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/scheduler"
)

// The leader has the job, has not written it yet, and somebody calls Forget.
func TestForget_NotAJobThatTheLeaderHasYetToWrite(t *testing.T) {
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		addBoth(a, b, "*/20 * * * * *", quick)
		c.SleepTo(19500 * time.Millisecond)
		a.links.Cut(1, 2)
		c.SleepTo(31 * time.Second)
		a.links.Cut()
		b.links.Hang(2)
		b.takesOver()
		time.Sleep(500 * time.Millisecond)
		want.Err(t, c.idle("x").Forget(t.Context(), "job"), scheduler.ErrJobInUse)
		b.links.Heal()
		c.SleepTo(50 * time.Second)
		ran, missed := b.accounted("job")
		if history, _ := b.History(t.Context(), "job", 50); ran+missed < 2 {
			t.Errorf("among the ticks of 20s and 40s %d ran and %d were missed: %v", ran, missed, history)
		}
	})
}

// A majority has just restarted without losing data. The leader goes on and has the job.
func TestForget_RefusesAfterAMajorityHasRestarted(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		for _, wait := range []time.Duration{0, 5 * time.Millisecond, 700 * time.Millisecond, 2500 * time.Millisecond} {
			t.Run(fmt.Sprintf("of %d, after %v", nodes, wait), func(t *testing.T) {
				inBubble(t, nodes, func(t *testing.T, c *cluster) {
					a, b := c.leader("a"), c.idle("b")
					a.add(a.job("job", "* * * * * *", quick))
					c.SleepTo(30300 * time.Millisecond)
					for i := nodes / 2; i < nodes; i++ {
						c.Restart(i)
					}
					time.Sleep(wait)
					want.Err(t, b.Forget(t.Context(), "job"), scheduler.ErrJobInUse)
				})
			})
		}
	}
}
