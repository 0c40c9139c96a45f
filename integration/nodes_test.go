//go:build unix

package integration_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/integration"
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/refusal"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

// minorities are what happens to a minority of nodes, and what ends it, if anything does.
var minorities = map[string]struct {
	begin, end func(t *testing.T, c *cluster)
}{
	"dead": {begin: func(_ *testing.T, c *cluster) { c.each(minority, (*redisproc.Node).Kill) }},
	"hung": {
		begin: func(_ *testing.T, c *cluster) { c.each(minority, (*redisproc.Node).Hang) },
		end:   func(_ *testing.T, c *cluster) { c.each(minority, (*redisproc.Node).Wake) },
	},
	"busy": {beBusy, func(t *testing.T, c *cluster) {
		c.each(minority, func(n *redisproc.Node) error { return plainly(t, n.Addr(), "", "").ScriptKill(t.Context()).Err() })
	}},
	"slow": {
		begin: func(_ *testing.T, c *cluster) {
			for _, own := range c.links {
				for _, link := range own {
					link.Delay(nodeTimeout) // there and back, so no answer comes in time
				}
			}
		},
		end: func(_ *testing.T, c *cluster) {
			for _, own := range c.links {
				for _, link := range own {
					link.Heal()
				}
			}
		},
	},
}

// The minority runs a script that does not end, so it answers nothing else.
func beBusy(t *testing.T, c *cluster) {
	c.each(minority, func(n *redisproc.Node) error {
		user := plainly(t, n.Addr(), "", "")
		// Otherwise it answers nothing, not even BUSY, for five seconds.
		if err := user.ConfigSet(t.Context(), "lua-time-limit", "1").Err(); err != nil {
			return err
		}
		ended := make(chan error, 1)
		go func() { // ends by SCRIPT KILL, or with its server
			ended <- user.WithTimeout(time.Minute).Eval(context.Background(), "while true do end", nil).Err()
		}()
		t.Cleanup(func() {
			if err := <-ended; err == nil {
				t.Error("the script ended by itself")
			}
		})
		poll(t, "BUSY", func() bool { return refusal.Code(user.Get(t.Context(), "k").Err()) == refusal.Busy })
		return nil
	})
}

// Without renewals the lease would run out.
func TestLeader_StaysWhileAMinorityOfNodesIsAway(t *testing.T) {
	oneOfMany(t)
	cases := beside{t: t}
	defer cases.Wait()
	for name, what := range minorities {
		cases.run(name, func(t *testing.T) {
			linked := 0
			if name == "slow" {
				linked = minority
			}
			c := startLinked(t, startNodes(t, nodeCount), linked, steady())
			leader := c.leaderOfAll()
			began := shared.now()
			what.begin(t, c)
			over := c.stays(leader, began, ttl+tickEvery).At
			if what.end != nil {
				what.end(t, c)
				c.stays(leader, over, ttl/2)
			}
		})
	}
}

func TestMajorityOfHungNodes_LeavesNobodyLeadingUntilItWakes(t *testing.T) {
	t.Parallel()
	c := start(t, startNodes(t, nodeCount), steady())
	leader := c.leader()

	c.each(majority, (*redisproc.Node).Hang)
	over := c.lostInTime(leader)
	asleep := make(map[string]bool)
	c.await("time without a leader", func(e integration.Event) bool {
		if e.Kind == integration.Sample && e.At > over.At+ttl {
			asleep[e.Replica] = true
		}
		return len(asleep) == len(c.replicas)
	})
	woken := shared.now()
	c.each(majority, (*redisproc.Node).Wake)
	next := c.next(leader.Since)

	took := next.Since - woken
	t.Logf("the next leader began %v after the nodes woke", took)
	if next.Since < woken {
		t.Errorf("%s began %v before a majority was there", next.Replica, woken-next.Since)
	}
	if took > ttl+busy {
		t.Errorf("the next leader began after %v, want at most %v", took, ttl+busy)
	}
	c.stays(next, next.At, ttl/2)
}

// leaderOfAll waits until a replica leads and its lease is on all nodes.
func (c *cluster) leaderOfAll() integration.Event {
	c.t.Helper()
	leader := c.leader()
	c.leaseOnAll()
	return leader
}

// leaseOnAll waits until one lease is on all nodes. After a split vote the lease is only on a majority at first, and
// would not survive the loss of a node.
func (c *cluster) leaseOnAll() {
	c.t.Helper()
	servers := admins(c.t, c.nodes.Addrs())
	poll(c.t, "lease on all nodes", func() bool {
		holders := make(map[string]bool)
		for _, server := range servers {
			holders[records.Default.Holder(c.t, inside.ElectionLock(c.Election), server)] = true
		}
		return len(holders) == 1 && !holders[""]
	})
}

// lostInTime waits until the leader's context is done. That must happen while nobody else can lead.
func (c *cluster) lostInTime(leader integration.Event) integration.Event {
	c.t.Helper()
	over := c.lost(leader)
	late := over.At - over.Deadline
	c.t.Logf("the context ended %v after the stop deadline", late)
	if late > margin {
		c.t.Errorf("the context ended %v after the stop deadline, want at most %v", late, margin)
	}
	return over
}

// each calls fn for each of the first n nodes.
func (c *cluster) each(n int, do func(*redisproc.Node) error) {
	c.t.Helper()
	for i := range n {
		must(c.t, do(c.nodes.Node(i)))
	}
}
