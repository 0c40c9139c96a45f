package scheduler_test

import (
	"context"
	"testing"
	"time"
)

// a is deposed in its run, which goes on, and all nodes restart: the next leader sees that it does.
func TestOverlap_OverAChangeOfTheLeaderThatAllNodesForgot(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		for _, r := range []*replica{a, b} {
			r.add(r.job("job", "0 * * * * *", func(context.Context, int) error {
				if r == a {
					time.Sleep(100 * time.Second)
				}
				return nil
			}))
		}
		c.sleepTo(70 * time.Second)
		for node := range 3 {
			c.Restart(node)
		}
		c.depose()
		b.campaign()
		b.leads()
		c.sleepTo(245 * time.Second)
		var returned time.Time
		for _, run := range c.records() {
			if run.start.Before(returned) {
				t.Errorf("%s began before the run of a had returned: %v", c.at(run.Tick), c.ran())
			}
			returned = run.end
		}
		t.Log(c.ran(), b.states("job"))
	})
}
