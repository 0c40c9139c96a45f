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

// crash is a point in a run where the test kills a leader. The tests of package scheduler stop a leader between the
// requests of a claim, and between those of an end.
type crash struct {
	name  string
	hold  func(*settings)  // makes the leader stop there by itself
	place integration.Kind // its event when it has stopped
	ran   bool
}

var crashes = []crash{
	{name: "before the run starts", place: won, hold: func(s *settings) { s.HoldStart = true }},
	{name: "in the run", place: integration.RunBegin, ran: true, hold: func(s *settings) { s.RunFor = time.Hour }},
}

func TestKilledLeader_LeavesALostRunThatIsRepeatedIfTheJobMay(t *testing.T) {
	oneOfMany(t)
	nodes := startNodes(t, 3)
	cases := beside{t: t}
	defer cases.Wait()
	for i, row := range crashes {
		for _, again := range []bool{false, true} {
			s := eachTick()
			s.Election, s.AtLeastOnce = fmt.Sprintf("crash %d %v", i, again), again
			cases.run(fmt.Sprintf("%s, at least once %v", row.name, again),
				func(t *testing.T) { row.play(t, nodes, s) })
		}
	}
}

func (row crash) play(t *testing.T, nodes *redisproc.Cluster, s settings) {
	held := s
	row.hold(&held)
	c := newCluster(t, nodes, held)
	c.replica("a", held, nodes.Addrs())
	tick := c.await(string(row.place), func(e integration.Event) bool { return e.Kind == row.place }).Tick
	a := c.replicas["a"]
	a.signal(syscall.SIGKILL)
	<-a.done
	votes := 0
	for _, server := range admins(t, nodes.Addrs()) {
		if records.Default.RunState(t, s.Election, jobName, tick, server) == records.Running {
			votes++
		}
	}
	if votes < 2 {
		t.Fatalf("it was killed elsewhere: %d nodes know of the run", votes)
	}

	c.replica("b", s, nodes.Addrs())
	c.ranAfter(tick.Add(2 * tickEvery))
	want := map[time.Time]int{tick: 0}
	if row.ran {
		want[tick] = 1
	}
	if s.AtLeastOnce {
		want[tick]++
		run := c.await("run of the tick by the next leader", func(e integration.Event) bool {
			return e.Kind == integration.RunBegin && e.Tick.Equal(tick) && e.Replica == "b"
		})
		if run.Attempt != 2 || !run.CaughtUp {
			t.Errorf("it ran as %+v, want attempt 2, caught up", run)
		}
		c.wantRecord(tick, scheduler.StateOK, "b", 2)
	} else {
		c.wantRecord(tick, scheduler.StateLost, "a", 1)
	}
	c.wantEachTick(want)
}
