//go:build unix

package integration_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/integration"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/scheduler"
)

// The stopped leader's remaining requests reach the nodes, or their votes reach it, after another leader has led for a
// while.
func TestLeaderStoppedInAClaim_DoesNotRunItsTickWhenItWakes(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 3)
	cases := beside{t: t}
	defer cases.Wait()
	for _, asked := range []int{1, 3} {
		for _, again := range []bool{false, true} {
			s := eachTick()
			s.Election, s.AtLeastOnce = fmt.Sprintf("stop %d %v", asked, again), again
			cases.run(fmt.Sprintf("%d of 3 have voted, at least once %v", asked, again),
				func(t *testing.T) { stopInClaim(t, nodes, s, asked) })
		}
	}
}

func stopInClaim(t *testing.T, nodes *redisproc.Cluster, s settings, asked int) {
	c, g := startGated(t, nodes, s)
	leader := c.allStore()
	a := c.replicas["a"]
	judge, held := holdAllButOne(false), 2
	if asked == 3 {
		judge, held = holdAll(unanswered, false), 3
	}
	g.set(time.Now(), judge)
	tick := g.wait(t, held)
	poll(t, "votes", func() bool { return count(c.states(tick), records.Running) == asked })
	stopped := a.signal(syscall.SIGSTOP)

	c.follow(s)
	next := c.next(stopped)
	c.ranAfter(tick.Add(2 * tickEvery))
	g.release()
	waking := a.signal(syscall.SIGCONT)
	c.lost(leader)
	c.await("replica that is awake", func(e integration.Event) bool {
		return e.Replica == "a" && e.Kind == integration.Sample && e.At > waking+tickEvery
	})
	c.stays(next, waking, 2*tickEvery)

	switch {
	case asked == 1:
		c.wantRecord(tick, scheduler.StateOK, "b", 1)
		c.wantEachTick(nil)
	case s.AtLeastOnce:
		c.wantRecord(tick, scheduler.StateOK, "b", 2)
		c.wantEachTick(nil)
	default:
		c.wantRecord(tick, scheduler.StateLost, "a", 1)
		c.wantEachTick(map[time.Time]int{tick: 0})
	}
	events, _ := c.reported(0)
	for _, e := range events {
		if e.Kind == integration.RunBegin && e.Tick.Equal(tick) && e.Replica != "b" {
			t.Errorf("the tick began on %s: %+v", e.Replica, e)
		}
	}
}
