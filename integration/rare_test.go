//go:build unix

package integration_test

import (
	"testing"
	"time"
)

// rarely is the time between two ticks. It is long enough to restart all nodes in between, each after the previous one
// grants again.
const rarely = 15 * time.Second

func TestRareTick_RunsWhenAllNodesHaveBeenRestartedSinceTheLast(t *testing.T) {
	t.Parallel()
	s := eachTick()
	s.Spec = "*/15 * * * * *"
	c := startTicking(t, 0, s)
	next := time.Now().Truncate(rarely).Add(rarely)
	for i := range c.nodes.Addrs() {
		must(c.t, c.nodes.Node(i).Kill(), c.nodes.Node(i).Restart(t.Context()))
		c.granted() // MaxTTL later
	}
	if late := time.Since(next); late > 0 {
		t.Fatalf("the next tick came %v before the nodes had been restarted", late)
	}
	if run := c.ranAfter(next.Add(-tickEvery)); !run.Tick.Equal(next) {
		all, err := c.observe().History(t.Context(), jobName, 50)
		t.Errorf("%v ran after the restarts, want %v, which is recorded as %+v (%v)",
			run.Tick, next, recordOf(all, next), err)
	}
}
