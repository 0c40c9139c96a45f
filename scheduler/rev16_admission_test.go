package scheduler_test

import (
	"fmt"
	"testing"
	"time"
)

// One node restarts; the other two go on. The ticks of many jobs do not wait for what it is told.
func TestAdmission_OfManyJobsHoldsNoTickUp(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		for i := range 200 {
			a.add(a.job(fmt.Sprint("job", i), "@every 1s", quick))
		}
		a.process.Delay(20 * time.Millisecond) // a round trip of 40 ms
		c.sleepTo(17500 * time.Millisecond)
		c.Restart(2)
		c.sleepTo(26 * time.Second)
		ticks := make(map[string]int)
		for _, run := range c.records() {
			ticks[c.at(run.Tick)]++
		}
		for tick := 10; tick <= 25; tick++ {
			if n := ticks[(time.Duration(tick) * time.Second).String()]; n != 200 {
				t.Errorf("at %d s %d of 200 ran", tick, n)
			}
		}
	})
}
