package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// The nodes on which a majority depends restart at once, and keep their data. The leader keeps its term, since nodes extend leases
// while their guard runs, for ten minutes here. It has started all runs itself, so none waits for a lease.
func TestRestarted_TheTermGoesOnAndSoDoTheTicks(t *testing.T) {
	for nodes, restarted := range map[int]int{1: 1, 3: 2} {
		t.Run(fmt.Sprintf("%d of %d", restarted, nodes), func(t *testing.T) {
			inBubble(t, nodes, func(t *testing.T, c *cluster) {
				a := c.leader("a")
				a.add(a.job("job", "*/5 * * * * *", quick))
				term := a.leads()
				c.SleepTo(11 * time.Second)
				for i := range restarted {
					c.Kill(i)
				}
				for i := range restarted {
					c.Restart(i)
				}
				c.SleepTo(31 * time.Second)
				if term != a.leads() {
					t.Error("the term has ended")
				}
				runs := c.records()
				for _, run := range runs {
					if late := run.start.Sub(run.Tick); late > 3*time.Second {
						t.Errorf("%s began %v late", c.at(run.Tick), late)
					}
				}
				if len(runs) != 6 {
					t.Errorf("ran %v", c.ran())
				}
				for tick, state := range a.states("job") {
					if state != scheduler.StateOK {
						t.Errorf("the tick of %s is %q", tick, state)
					}
				}
			})
		})
	}
}
