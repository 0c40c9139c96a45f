package scheduler_test

import (
	"testing"
	"time"
)

// The pace for single nodes' demands delays no tick. One node has restarted so often that its demands wait, and then another node
// stops answering.
func TestDemands_WaitForNothingThatAMajorityNeeds(t *testing.T) {
	long(t)
	withShortLeases(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "* * * * * *", quick))
		at := 20 * time.Second
		for range 8 {
			c.SleepTo(at)
			c.Restart(2)
			at += 24 * time.Second
		}
		c.SleepTo(at)
		c.Kill(1)
		c.SleepTo(at + time.Minute)
		if s, err := a.Status(t.Context(), "job"); err != nil || s.Missed > 0 {
			t.Errorf("%d ticks missed, %v", s.Missed, err)
		}
		if n, want := c.runsOf("job"), int((at+time.Minute)/time.Second)-15; n < want {
			t.Errorf("%d runs, want %d at least", n, want)
		}
	})
}
