package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// A run is under way when all nodes restart at once, with their data, and its process dies. It is recorded as lost,
// and told.
func TestLost_WhereAQuorumForgotItIsTold(t *testing.T) {
	for name, rolled := range map[string]bool{"voted for": false, "told of, in a rolling restart before": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, c *cluster) {
				var told []scheduler.Record
				a := c.leader("a")
				b := c.idle("b", scheduler.WithHooks(scheduler.Hooks{Finished: func(r scheduler.Record) { told = append(told, r) }}))
				for _, r := range []*replica{a, b} {
					r.add(r.job("job", "@every 1h", func(ctx context.Context, _ int) error {
						if r == a {
							<-ctx.Done()
						}
						return ctx.Err()
					}))
				}
				c.sleepTo(time.Hour + 5*time.Second)
				for node := range 3 {
					if rolled {
						c.Restart(node)
						time.Sleep(time.Minute)
					}
				}
				a.process.Cut()
				for node := range 3 {
					c.Restart(node)
				}
				b.campaign()
				b.leads()
				c.sleepTo(time.Hour + 10*time.Minute)
				if got := b.states("job")["1h0m0s"]; got != scheduler.StateLost {
					t.Errorf("recorded %q", got)
				}
				if len(told) != 1 || told[0].State != scheduler.StateLost {
					t.Errorf("told %+v", told)
				}
			})
		})
	}
}
