//go:build unix

package integration_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/integration"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/redlock"
)

const (
	nodeCount = 5
	majority  = nodeCount/2 + 1
	minority  = nodeCount - majority // the most nodes that may fail
)

// cluster is five nodes, three replicas, and the events of the replicas.
type cluster struct {
	settings // of each replica, except the individual ones
	t        *testing.T
	nodes    *redisproc.Cluster
	replicas map[string]*process
	links    map[string][]*redisproc.Proxy // from each replica to the first nodes, if there are proxies

	mu     sync.Mutex // guards the fields below
	events []integration.Event
	more   chan struct{} // closed at the next event
}

// beside runs all cases of a test at the same time, because they mostly wait.
type beside struct {
	sync.WaitGroup
	t *testing.T
}

func (b *beside) run(name string, test func(t *testing.T)) {
	b.Go(func() { b.t.Run(name, test) })
}

// start starts replicas. At the end of the test they are killed, and their history is checked.
func start(t *testing.T, nodes *redisproc.Cluster, s settings) *cluster {
	t.Helper()
	return startLinked(t, nodes, 0, s)
}

// startLinked also gives each replica, by name, its own proxy in front of each of the first nodes. Nodes that should
// stay healthy have no proxy, because proxies run in this process, and are slow when the machine is busy.
func startLinked(t *testing.T, nodes *redisproc.Cluster, first int, s settings) *cluster {
	t.Helper()
	c := newCluster(t, nodes, s)
	for _, name := range []string{"a", "b", "c"} {
		c.linked(name, first)
	}
	return c
}

// newCluster returns a cluster without replicas. At the end of the test, replicas that were added are killed, and
// their history is checked.
func newCluster(t *testing.T, nodes *redisproc.Cluster, s settings) *cluster {
	c := &cluster{
		settings: s, t: t, nodes: nodes, replicas: make(map[string]*process),
		links: make(map[string][]*redisproc.Proxy), more: make(chan struct{}),
	}
	t.Cleanup(c.end)
	return c
}

// replica starts a replica that uses the nodes at these addresses.
func (c *cluster) replica(name string, s settings, addrs []string) {
	c.t.Helper()
	s.Name, s.Nodes = name, addrs
	c.replicas[name] = startProcess(c.t, s, c.add)
}

// linked starts a replica with its own link to each of the first nodes.
func (c *cluster) linked(name string, first int) {
	c.t.Helper()
	var addrs []string
	for i := range c.nodes.Addrs() {
		node := c.nodes.Node(i)
		if i >= first {
			addrs = append(addrs, c.Login+node.Addr())
			continue
		}
		link, err := node.Proxy()
		must(c.t, err)
		c.links[name] = append(c.links[name], link)
		addrs = append(addrs, link.Addr())
	}
	c.replica(name, c.settings, addrs)
}

// locker makes a Locker with the replicas' settings, in this process.
func (c *cluster) locker() *redlock.Locker {
	c.t.Helper()
	return lockerOn(c.t, clients(c.t, c.nodes.Addrs()...),
		redlock.WithTTL(c.TTL), redlock.WithNodeTimeout(c.TTL/4))
}

// restart waits until a replica that was killed or terminated is gone, and starts another in its
// place.
func (c *cluster) restart(p *process) {
	c.t.Helper()
	select {
	case <-p.done:
		c.replicas[p.Name] = startProcess(c.t, p.settings, c.add)
	case <-time.After(waitLimit):
		c.t.Fatalf("after %v %s was still there", waitLimit, p.Name)
	}
}

// end kills the replicas and checks the history.
func (c *cluster) end() {
	for _, p := range c.replicas {
		p.kill()
	}
	if err := integration.Check(c.events, c.margin()); err != nil {
		c.t.Error(err)
	}
	if !c.t.Failed() {
		return
	}
	c.t.Log(c.timeline())
	for _, p := range c.replicas {
		c.t.Logf("stderr of %s:\n%s", p.Name, p.stderr.String())
	}
}

func (c *cluster) add(e integration.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
	close(c.more)
	c.more = make(chan struct{})
}

// await returns the first event that matches, past or future.
func (c *cluster) await(what string, match func(integration.Event) bool) integration.Event {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), waitLimit)
	defer cancel()
	began := shared.now()
	for seen := 0; ; {
		events, more := c.reported(seen)
		if i := slices.IndexFunc(events, match); i >= 0 {
			return events[i]
		}
		seen += len(events)
		select {
		case <-more:
		case <-ctx.Done():
			c.t.Fatalf("after %v there was no %s\n%s", waitLimit, what, still.since(began))
		}
	}
}

// reported returns the events after the first seen ones, and a channel that is closed at the next event.
func (c *cluster) reported(seen int) ([]integration.Event, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.events[seen:]), c.more
}

// leader waits until a replica leads and a run of its job has returned, and returns that run's event.
func (c *cluster) leader() integration.Event {
	c.t.Helper()
	return c.await("run", func(e integration.Event) bool { return e.Kind == integration.RunEnd })
}

// next waits for a term that started after that time.
func (c *cluster) next(since time.Duration) integration.Event {
	c.t.Helper()
	return c.await("leader since later than "+since.String(), func(e integration.Event) bool {
		return e.Kind == integration.LeadBegin && e.Since > since
	})
}

// inTerm waits for an event of the leader's term.
func (c *cluster) inTerm(kind integration.Kind, leader integration.Event) integration.Event {
	c.t.Helper()
	return c.await(string(kind), func(e integration.Event) bool {
		return e.Kind == kind && e.Replica == leader.Replica && e.Since == leader.Since
	})
}

// endOf returns the stop deadline of the leader's term, and the time when the context of its callback was done, if an
// event shows it.
func (c *cluster) endOf(leader integration.Event) (deadline, done time.Duration) {
	events, _ := c.reported(0)
	for _, e := range events {
		if e.Replica != leader.Replica || e.Since != leader.Since {
			continue
		}
		deadline = max(deadline, e.Deadline)
		if e.Kind == integration.LeadDone {
			done = e.At
		}
	}
	return deadline, done
}

// lost waits until the context of the leader's callback is done. The cause must be a loss of the lease.
func (c *cluster) lost(leader integration.Event) integration.Event {
	c.t.Helper()
	over := c.inTerm(integration.LeadDone, leader)
	if !strings.Contains(over.Text, election.ErrLost.Error()) {
		c.t.Errorf("the context of %s ended because of %q, want %v",
			leader.Replica, over.Text, election.ErrLost)
	}
	return over
}

// stays waits until the leader has led for d after since and has run every tick of that time. It fails if the
// leadership changed. It returns the last event of the leader. The replicas must have the settings of [steady], because
// other jobs skip ticks on a busy machine.
func (c *cluster) stays(leader integration.Event, since, d time.Duration) integration.Event {
	c.t.Helper()
	var first time.Time // tick
	last := c.await("leader or change", func(e integration.Event) bool {
		if e.At < since {
			return false
		}
		switch mine := e.Replica == leader.Replica && e.Since == leader.Since; {
		case e.Kind == integration.LeadBegin && !mine, e.Kind == integration.LeadDone && mine:
			c.t.Fatalf("the leadership of %s with token %d did not last", leader.Replica, leader.Token)
		case e.Kind == integration.RunBegin && mine && first.IsZero():
			first = e.Tick
		case e.Kind == integration.Sample && mine:
			return e.At >= since+d && !first.IsZero()
		}
		return false
	})
	for n := range int(d/tickEvery) - 1 {
		tick := first.Add(time.Duration(n) * tickEvery)
		c.await("run of "+tick.String(), func(e integration.Event) bool {
			return e.Kind == integration.RunBegin && e.Tick.Equal(tick) && e.Replica == leader.Replica
		})
	}
	return last
}
