package scheduler_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// A run is asked for while nobody leads, and then two nodes restart, with their data. It is run, or told to be missed.
func TestTrigger_WhileNobodyLeadsIsRunOrTold(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		var missed atomic.Int64
		a := c.idle("a", scheduler.WithHooks(scheduler.Hooks{
			Missed: func(_ string, n int, _ string) { missed.Add(int64(n)) },
		}))
		a.add(a.job("job", "@every 24h", quick))
		c.sleepTo(time.Minute)
		if err := a.Trigger(t.Context(), "job"); err != nil {
			t.Fatal(err)
		}
		c.Restart(0)
		c.Restart(1)
		a.campaign()
		c.sleepTo(10 * time.Minute)
		if got := len(c.records()) + int(missed.Load()); got != 1 {
			t.Errorf("ran %v, told %d, recorded %v", c.ran(), missed.Load(), a.states("job"))
		}
	})
}
