//go:build unix

package integration_test

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/integration"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/scheduler"
)

// All nodes are down at the same time, and come back with all of their data. They cannot know that it is complete: as
// far as they know, ticks up to two seconds after their restart may have run. The nodes grant nothing for some more
// seconds, and the next leader catches up on the ticks of that time.
func TestAllNodesRestartedAtOnce_EachTickRunsOrIsRecorded(t *testing.T) {
	t.Parallel()
	const away, unknown = 14 * time.Second, 2 * time.Second
	s := steady()
	s.RunFor, s.Window = 50*time.Millisecond, time.Minute
	c := start(t, startNodes(t, nodeCount, persist...), s)
	c.allStore()
	c.leaseOnAll()
	ran := c.justRan().Tick

	down := time.Now()
	c.each(nodeCount, (*redisproc.Node).Kill)
	<-time.After(time.Until(down.Add(away)))
	c.each(nodeCount, func(n *redisproc.Node) error { return n.Restart(t.Context()) })
	back := time.Now()
	next := c.await("run after the restart", func(e integration.Event) bool {
		return e.Kind == integration.RunBegin && e.At > shared.at(back)
	})
	took, most := next.At-shared.at(back), s.TTL+s.TTL/3+busy
	t.Logf("the nodes were back after %v, the next run began %v later", back.Sub(down), took)
	if took > most {
		t.Errorf("the next run began after %v, want at most %v", took, most)
	}

	last := c.ranAfter(back.Add(s.TTL + 5*tickEvery)).Tick
	notRun := c.accounted(last)
	t.Logf("%d ticks did not run: %v", len(notRun), notRun)
	for _, tick := range notRun {
		if !tick.After(ran) || tick.After(back.Add(unknown+busy)) {
			t.Errorf("%v did not run, want those after %v and before %v alone", tick, ran, back.Add(unknown))
		}
	}
}

// accounted checks that each tick from the first one that ran to last either ran once, or did not run and is recorded
// with the reason. It also checks that missed ticks are counted. It returns the ticks that did not run.
func (c *cluster) accounted(last time.Time) (notRun []time.Time) {
	c.t.Helper()
	s := c.observe()
	history, err := s.History(c.t.Context(), jobName, 50)
	must(c.t, err)
	status, err := s.Status(c.t.Context(), jobName)
	must(c.t, err)
	events, _ := c.reported(0)
	runs, first, _ := runsOf(events)
	missed := 0
	for tick := first; !tick.After(last); tick = tick.Add(tickEvery) {
		r := recordOver(history, tick)
		passed := r.State == scheduler.StateMissed || r.State == scheduler.StateSkipped
		if r.State == scheduler.StateMissed {
			missed++
		}
		switch n := runs[tick]; {
		case n > 1, n == 1 && passed:
			c.t.Errorf("%v ran %d times, and is recorded as %+v", tick, n, r)
		case n == 0 && (passed || r.State == scheduler.StateLost) && r.Err != "":
			notRun = append(notRun, tick)
		case n == 0:
			c.t.Errorf("%v did not run, and is recorded as %+v", tick, r)
		}
	}
	if status.Missed != missed {
		c.t.Errorf("%d ticks are counted as missed, and %d recorded", status.Missed, missed)
	}
	return notRun
}

// recordOver returns the record of a tick, which may be the record of a range of ticks, or the zero Record if there is
// none.
func recordOver(all []scheduler.Record, tick time.Time) scheduler.Record {
	for _, r := range all {
		if r.Tick.Equal(tick) || r.Ticks > 0 && !tick.Before(r.From) && tick.Before(r.Tick) {
			return r
		}
	}
	return scheduler.Record{}
}
