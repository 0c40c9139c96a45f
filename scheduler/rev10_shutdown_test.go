package scheduler_test

import (
	"context"
	"testing"
	"time"
)

// A run has returned, but its end is not written when the time is over: who ends the process now would lose it.
func TestShutdown_SaysThatAnEndIsNotWritten(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "*/20 * * * * *", lasting(time.Second)))
		c.sleepTo(20500 * time.Millisecond)
		a.process.Hang()
		c.sleepTo(21500 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := a.Shutdown(ctx); err == nil {
			t.Errorf("no error, and its record says %q", c.idle("b").states("job")["20s"])
		}
	})
}
