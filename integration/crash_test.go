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

// caughtUpAfter is how late a run must be to count as caught up.
const caughtUpAfter = 5 * time.Second

// crash is a point between a tick and the record of its run's end, where the test holds and kills a leader.
type crash struct {
	name  string
	judge func() func(request) verdict // makes gates hold the leader there
	gates int                          // the number of gates that then hold something back
	hold  func(*settings)              // or: makes the leader stop there by itself
	place integration.Kind             // its event when it has stopped

	// The state on the nodes after the crash.
	votes int // of three nodes; if a quorum has voted, more may vote
	ends  int // nodes, of three, that have stored the end of the run
	ran   bool

	// The outcome of the tick.
	state   scheduler.State // by default
	attempt int             // of the run by the next leader, with AtLeastOnce; 1: also by default; 0: none
}

var crashes = []crash{
	{
		name: "before any vote", gates: 1,
		judge: func() func(request) verdict { return holdAll(unasked, false) },
		state: scheduler.StateOK, attempt: 1,
	},
	{
		name: "after the first vote", gates: 2, votes: 1,
		judge: func() func(request) verdict { return holdAllButOne(false) },
		state: scheduler.StateOK, attempt: 1,
	},
	{
		name: "after all votes, before it gets them", gates: 3, votes: 3,
		judge: func() func(request) verdict { return holdAll(unanswered, false) },
		state: scheduler.StateLost, attempt: 2,
	},
	{
		name: "before the run starts", place: won, votes: 2,
		hold:  func(s *settings) { s.HoldStart = true },
		state: scheduler.StateLost, attempt: 2,
	},
	{
		name: "in the run", place: integration.RunBegin, votes: 2, ran: true,
		hold:  func(s *settings) { s.RunFor = time.Hour },
		state: scheduler.StateLost, attempt: 2,
	},
	{
		name: "before the end is written", gates: 3, votes: 2, ran: true,
		judge: func() func(request) verdict { return holdAll(unasked, true) },
		state: scheduler.StateLost, attempt: 2,
	},
	{
		name: "when one node knows the end", gates: 2, votes: 2, ends: 1, ran: true,
		judge: func() func(request) verdict { return holdAllButOne(true) },
		state: scheduler.StateOK, // all nodes answer the next leader, so it learns of the end
	},
}

// holdAll judges claims, or writes of the ends of runs.
func holdAll(v verdict, ends bool) func(request) verdict {
	return func(r request) verdict {
		if r.end == ends {
			return v
		}
		return passes
	}
}

// holdAllButOne lets only the first node get the request.
func holdAllButOne(ends bool) func(request) verdict {
	first := -1
	return func(r request) verdict {
		if r.end != ends {
			return passes
		}
		if first < 0 {
			first = r.node
		}
		if r.node == first {
			return passes
		}
		return unasked
	}
}

func TestKilledLeader_LeavesItsTickAsTheTableSays(t *testing.T) {
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
	if row.hold != nil {
		row.hold(&held)
	}
	c, g := startGated(t, nodes, held)
	tick := row.reach(c, g)
	a := c.replicas["a"]
	a.signal(syscall.SIGKILL)
	<-a.done
	states := c.states(tick)
	votes, ends := count(states, records.Running), count(states, "ok")
	if votes+ends < row.votes || row.votes < 2 && votes > row.votes || ends != row.ends {
		t.Fatalf("it was killed elsewhere: the nodes know %q of its tick", states)
	}

	if row.attempt == 1 {
		<-time.After(time.Until(tick.Add(caughtUpAfter)))
	}
	c.follow(s)
	c.ranAfter(tick.Add(2 * tickEvery))

	want := map[time.Time]int{tick: 0}
	if row.ran {
		want[tick] = 1
	}
	if row.attempt == 1 || row.attempt > 0 && s.AtLeastOnce {
		want[tick]++
		run := c.await("run of the tick by the next leader", func(e integration.Event) bool {
			return e.Kind == integration.RunBegin && e.Tick.Equal(tick) && e.Replica == "b"
		})
		if run.Attempt != row.attempt || !run.CaughtUp {
			t.Errorf("it ran as %+v, want attempt %d, caught up", run, row.attempt)
		}
		c.wantRecord(tick, scheduler.StateOK, "b", row.attempt)
	} else {
		c.wantRecord(tick, row.state, "a", 1)
	}
	c.wantEachTick(want)
}

// reach waits until the leader is held at the point where the test kills it, and returns the tick.
func (row crash) reach(c *cluster, g *gates) time.Time {
	c.t.Helper()
	if row.hold != nil {
		return c.await(string(row.place), func(e integration.Event) bool { return e.Kind == row.place }).Tick
	}
	c.allStore()
	g.set(time.Now(), row.judge())
	tick := g.wait(c.t, row.gates)
	poll(c.t, "votes and ends", func() bool {
		states := c.states(tick)
		votes, ends := count(states, records.Running), count(states, "ok")
		return votes+ends >= row.votes && ends >= row.ends
	})
	return tick
}

func count(all []string, what string) (n int) {
	for _, s := range all {
		if s == what {
			n++
		}
	}
	return n
}

// startGated starts one replica, "a", behind gates.
func startGated(t *testing.T, nodes *redisproc.Cluster, s settings) (*cluster, *gates) {
	t.Helper()
	g := newGates(t, nodes)
	c := newCluster(t, nodes, s)
	c.replica("a", s, g.addrs)
	return c, g
}

// follow starts another replica, "b".
func (c *cluster) follow(s settings) {
	c.t.Helper()
	c.replica("b", s, c.nodes.Addrs())
}
