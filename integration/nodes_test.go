//go:build unix

package integration_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/integration"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

const majority = nodeCount/2 + 1

// eachMinority runs a test for each number of nodes that a cluster can spare, one after another, and
// beside other tests.
func eachMinority(t *testing.T, test func(t *testing.T, nodes *redisproc.Cluster, faulty int)) {
	t.Helper()
	var clusters []*redisproc.Cluster
	for range nodeCount - majority {
		clusters = append(clusters, startNodes(t, nodeCount))
	}
	t.Parallel()
	for i, nodes := range clusters {
		faulty := i + 1
		t.Run(fmt.Sprintf("%d of %d", faulty, nodeCount), func(t *testing.T) { test(t, nodes, faulty) })
	}
}

func TestLeader_StaysWhileAMinorityOfNodesIsDead(t *testing.T) {
	eachMinority(t, func(t *testing.T, nodes *redisproc.Cluster, faulty int) {
		c := start(t, nodes)
		leader := c.leaderOfAll()

		began := shared.now()
		for i := range faulty {
			if err := c.nodes.Node(i).Kill(); err != nil {
				t.Fatal(err)
			}
		}
		c.stays(leader, began, 2*ttl)
	})
}

func TestLeader_StaysWhileAMinorityOfNodesHangs(t *testing.T) {
	eachMinority(t, func(t *testing.T, nodes *redisproc.Cluster, faulty int) {
		c := start(t, nodes)
		leader := c.leaderOfAll()

		began := shared.now()
		hang(t, c.nodes, faulty)
		woken := c.stays(leader, began, 2*ttl).At
		wake(t, c.nodes, faulty)
		c.stays(leader, woken, ttl)
	})
}

func TestLeader_StaysWhileAMinorityOfNodesIsSlow(t *testing.T) {
	eachMinority(t, func(t *testing.T, nodes *redisproc.Cluster, faulty int) {
		c := startLinked(t, nodes, faulty, steady())
		leader := c.leaderOfAll()

		began := shared.now()
		for _, own := range c.links {
			for _, link := range own {
				link.Delay(nodeTimeout) // there and back, so no answer comes in time
			}
		}
		c.stays(leader, began, 2*ttl)
	})
}

func TestMajorityOfHungNodes_LeavesNobodyLeadingUntilItWakes(t *testing.T) {
	nodes := startNodes(t, nodeCount)
	t.Parallel()
	c := start(t, nodes)
	leader := c.leader()

	hang(t, c.nodes, majority)
	over := c.lostInTime(leader)
	asleep := make(map[string]bool)
	c.await("time without a leader", func(e integration.Event) bool {
		if e.Kind == integration.Sample && e.At > over.At+ttl {
			asleep[e.Replica] = true
		}
		return len(asleep) == len(c.replicas)
	})
	woken := shared.now()
	wake(t, c.nodes, majority)
	next := c.next(leader.Since)

	took := next.Since - woken
	t.Logf("the next leader began %v after the nodes woke", took)
	if next.Since < woken {
		t.Errorf("%s began %v before a majority was there", next.Replica, woken-next.Since)
	}
	if took > ttl+busy {
		t.Errorf("the next leader began after %v, want at most %v", took, ttl+busy)
	}
	c.stays(next, next.At, ttl)
}

func TestAllNodesFlushed_EndsTheTermAtOnceAndDelaysTheNextByTheGuard(t *testing.T) {
	nodes := startNodes(t, nodeCount)
	t.Parallel()
	c := start(t, nodes)
	leader := c.leaderOfAll()

	flushed := shared.now()
	for i := range nodeCount {
		if err := forgetting["flushed"](t.Context(), c.nodes.Node(i)); err != nil {
			t.Fatal(err)
		}
	}
	over := c.lost(leader)
	next := c.next(leader.Since)

	took, early := next.Since-flushed, over.Deadline-over.At
	t.Logf("the context ended %v before the stop deadline; the next leader began %v after the flush",
		early, took)
	if early <= 0 {
		t.Errorf("the context ended %v after the stop deadline, want as soon as the lease was seen gone",
			-early)
	}
	if took < ttl || took > ttl+ttl/3+busy {
		t.Errorf("the next leader began after %v, want after the guard of %v", took, ttl)
	}
	if next.Token <= leader.Token {
		t.Errorf("token %d came after %d", next.Token, leader.Token)
	}
	// Nobody knows what was voted on before, so nodes that no leader has told of the job since vote for none
	// of the next two seconds' ticks.
	first := c.inTerm(integration.RunBegin, next)
	if late := first.At - next.At; late > 3*tickEvery+busy {
		t.Errorf("the first tick was run %v after the next leader began", late)
	}
	c.stays(next, first.At, ttl)
}

func TestLeaderCutOffFromAMajority_StopsAndIsFollowed(t *testing.T) {
	nodes := startNodes(t, nodeCount)
	t.Parallel()
	c := startLinked(t, nodes, majority, steady())
	leader := c.leader()

	cut := shared.now()
	for _, link := range c.links[leader.Replica] {
		link.Cut()
	}
	over := c.lostInTime(leader)
	next := c.next(leader.Since)

	t.Logf("the next leader began %v after the end of the context", next.Since-over.At)
	if took := next.Since - cut; next.Replica == leader.Replica || took > ttl+busy {
		t.Errorf("%s began %v after the cut of %s, want another within %v",
			next.Replica, took, leader.Replica, ttl+busy)
	}

	healed := shared.now()
	for _, link := range c.links[leader.Replica] {
		link.Heal()
	}
	c.stays(next, healed, 2*ttl)
}

// leaderOfAll waits until the leader's lease is on all nodes. A vote that was split leaves it on a
// majority at first, of which no node could be spared.
func (c *cluster) leaderOfAll() integration.Event {
	c.t.Helper()
	leader := c.leader()
	servers := admins(c.t, c.nodes.Addrs())
	poll(c.t, "lease on all nodes", func() bool {
		holders := make(map[string]bool)
		for _, server := range servers {
			holder, err := server.Get(c.t.Context(), "{redlock}:lock:jobs").Result()
			if err != nil && !errors.Is(err, redis.Nil) {
				c.t.Fatal(err)
			}
			holders[holder] = true
		}
		return len(holders) == 1 && !holders[""]
	})
	return leader
}

// lostInTime waits until the leader's context is done, which must be while nobody else can lead.
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

func hang(t *testing.T, nodes *redisproc.Cluster, n int) {
	t.Helper()
	for i := range n {
		if err := nodes.Node(i).Hang(); err != nil {
			t.Fatal(err)
		}
	}
}

func wake(t *testing.T, nodes *redisproc.Cluster, n int) {
	t.Helper()
	for i := range n {
		if err := nodes.Node(i).Wake(); err != nil {
			t.Fatal(err)
		}
	}
}
