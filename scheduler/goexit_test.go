package scheduler_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/scheduler"
)

// A hook panics, or ends its goroutine, on the goroutine that starts the ticks. That ends the term. The lease is not released
// before the run under way has returned, and no tick starts meanwhile.
func TestLead_AHookThatPanicsReleasesNoLeaseUnderARun(t *testing.T) {
	for name, hook := range map[string]func(time.Duration){
		"panic":  func(time.Duration) { panic("hook") },
		"goexit": func(time.Duration) { runtime.Goexit() },
	} {
		t.Run(name, func(t *testing.T) {
			withShortLeases(t, 3, func(t *testing.T, c *cluster) {
				c.opts = []election.Option{election.WithPanicHandler(func(*election.PanicError) {})}
				a := c.leader("a", scheduler.WithHooks(scheduler.Hooks{ClockSkew: hook}))
				b := c.replica("b")
				running := false
				work := func(context.Context, int) error {
					running = true
					time.Sleep(5 * time.Second)
					if b.elector.IsLeader() {
						t.Error("the next leader leads beside the run")
					}
					running = false
					return nil
				}
				addBoth(a, b, "30 * * * * *", work)
				c.SleepTo(31 * time.Second)
				if !running {
					t.Fatal("the job does not run")
				}
				a.clock.Step(time.Hour)
				c.SleepTo(34 * time.Second)
				if a.elector.IsLeader() {
					t.Error("the term goes on although the scheduler's callback has ended")
				}
				b.leads()
				if got := c.at(now()); got > "50s" {
					t.Errorf("the next leader led at %v", got)
				}
			})
		})
	}
}
