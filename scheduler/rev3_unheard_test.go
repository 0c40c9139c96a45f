package scheduler_test

import (
	"testing"
	"time"
)

// One node is always a little slower than the others, and restarts. The leader has nothing to do, and looks.
func TestLook_HearsOfASlowNodeThatHasForgotten(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		for _, r := range []*replica{a, b} {
			r.add(r.job("job", "@every 1h", quick))
		}
		c.Delay(5*time.Millisecond, 2)
		c.sleepTo(70 * time.Minute)
		c.Restart(2)
		c.sleepTo(110 * time.Minute) // 700 looks later
		a.process.Cut()
		c.Restart(1)
		c.sleepTo(125 * time.Minute)
		b.campaign()
		b.leads()
		c.sleepTo(130 * time.Minute)
		if ran := c.ran(); len(ran) != 2 {
			t.Errorf("ran %v, missed %d, recorded %v", ran, b.status("job").Missed, b.states("job"))
		}
	})
}
