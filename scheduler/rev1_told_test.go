package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// All nodes have restarted one after the other while a run was under way: they were told of it, and may not let it
// be taken over. Its leader dies. The next one says that it is lost.
func TestTakeOver_OfARunThatNodesWereOnlyToldOfIsLost(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		var told []scheduler.Record
		a := c.leader("a")
		b := c.idle("b", scheduler.WithHooks(scheduler.Hooks{Finished: func(r scheduler.Record) { told = append(told, r) }}))
		for _, r := range []*replica{a, b} {
			job := r.job("job", "@every 1h", func(ctx context.Context, _ int) error {
				if r == a {
					<-ctx.Done()
				}
				return ctx.Err()
			})
			job.AtLeastOnce = true
			r.add(job)
		}
		c.sleepTo(time.Hour + 5*time.Second)
		for node := range 3 {
			c.Restart(node)
			time.Sleep(30 * time.Second)
		}
		a.process.Cut()
		b.campaign()
		b.leads()
		c.sleepTo(time.Hour + 10*time.Minute)
		if got := b.states("job")["1h0m0s"]; got != scheduler.StateLost && got != scheduler.StateOK {
			t.Errorf("recorded %q, running %v", got, b.status("job").Running)
		}
		if len(told) != 1 {
			t.Errorf("told %+v, ran %v", told, c.ran())
		}
	})
}
