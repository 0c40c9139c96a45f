package scheduler_test

import (
	"testing"
	"time"
)

// Who asks for a run by hand is far from two of the nodes: the leader has claimed it before they hear of it.
func TestTrigger_FromFarAwayIsOneRun(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		a.add(a.job("job", "@every 24h", quick))
		c.sleepTo(time.Minute)
		b.status("job") // it is connected
		b.process.Delay(10*time.Millisecond, 1, 2)
		if err := b.Trigger(t.Context(), "job"); err != nil {
			t.Error(err)
		}
		c.sleepTo(2 * time.Minute)
		if ran := c.ran(); len(ran) != 1 {
			t.Errorf("ran %v", ran)
		}
	})
}
