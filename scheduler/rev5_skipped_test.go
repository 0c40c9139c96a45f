package scheduler_test

import (
	"context"
	"testing"
	"time"
)

// A tick comes while a run is under way: one node votes for it not to be run. That run returns, and the tick is asked for
// once more.
func TestSkip_ATickThatOneNodeHasSkippedIsNotRun(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		for _, r := range []*replica{a, b} {
			job := r.job("job", "*/30 * * * * *", func(ctx context.Context, call int) error {
				if r == a && call == 1 {
					time.Sleep(31 * time.Second)
				} else if r == a {
					<-ctx.Done()
				}
				return ctx.Err()
			})
			job.AtLeastOnce = true
			r.add(job)
		}
		c.sleepTo(59 * time.Second)
		a.process.Cut(1, 2)
		c.sleepTo(61500 * time.Millisecond) // the run of 30 s has returned
		a.process.Heal()
		a.process.Cut(2)
		c.sleepTo(65 * time.Second)
		t.Logf("ran %v", c.ran())
		a.process.Cut()
		c.Kill(1)
		b.campaign()
		b.leads()
		c.sleepTo(85 * time.Second)
		started := make(map[string]bool)
		for _, run := range c.records() {
			started[c.at(run.Tick)] = true
			if run.by == "b" && c.at(run.Tick) == "1m0s" {
				started["again"] = true
			}
		}
		if got := b.states("job")["1m0s"]; started["1m0s"] && !started["again"] {
			t.Errorf("a has run the tick and died; it is recorded as %q, and all that ran is %v", got, c.ran())
		}
	})
}
