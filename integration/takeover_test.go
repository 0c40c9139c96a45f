//go:build unix

package integration_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/integration"
	"github.com/redlockfx/redlockfx/scheduler"
)

func TestTakeOver_GoesOnWhenNoNodeHasAnsweredAtFirst(t *testing.T) {
	t.Parallel()
	s := eachTick()
	s.AtLeastOnce = true
	held := s
	held.RunFor = time.Hour
	nodes := startNodes(t, 3)
	c, _ := startGated(t, nodes, held)
	tick := c.await("run", func(e integration.Event) bool { return e.Kind == integration.RunBegin }).Tick
	c.replicas["a"].signal(syscall.SIGKILL)

	g := newGates(t, nodes)
	asked := make(map[int]bool)
	g.set(tick.Add(-tickEvery), func(r request) verdict {
		if r.tick.Equal(tick) && !r.end && !asked[r.node] {
			asked[r.node] = true
			return unasked
		}
		return passes
	})
	c.replica("b", s, g.addrs)
	g.wait(t, 3)
	run := c.await("run of the tick by the next leader", func(e integration.Event) bool {
		return e.Kind == integration.RunBegin && e.Tick.Equal(tick) && e.Replica == "b"
	})
	if run.Attempt != 2 {
		t.Errorf("it ran as %+v, want attempt 2", run)
	}
	c.wantRecord(tick, scheduler.StateOK, "b", 2)
}
