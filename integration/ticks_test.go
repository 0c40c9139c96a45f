//go:build unix

package integration_test

import (
	"maps"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/integration"
)

// troubles are what nodes and replicas go through while the job continues.
var troubles = map[string]func(*cluster){
	"one node is down, and one slow": func(c *cluster) {
		must(c.t, c.nodes.Node(0).Kill())
		c.ticks(4)
		back := time.Now()
		must(c.t, c.nodes.Node(0).Restart(c.t.Context()))
		c.stored(0, back)
		c.leaseOnAll() // the slow node's is not needed then
		for _, own := range c.links {
			own[1].Delay(c.TTL / 10) // there and back, so no answer comes in time
		}
		c.ticks(4)
		for _, own := range c.links {
			own[1].Heal()
		}
		c.ticks(2)
	},
	"a majority is down for ten ticks": func(c *cluster) {
		run := c.justRan()
		for _, own := range c.links {
			own[0].Refuse()
			own[1].Refuse()
		}
		<-time.After(time.Until(run.Tick.Add(10*tickEvery + tickEvery/2)))
		for _, own := range c.links {
			own[0].Heal()
			own[1].Heal()
		}
		c.ticks(2)
	},
	"one node after another forgets": func(c *cluster) {
		must(c.t, c.nodes.Node(0).Backup())
		// The older file is first, and still of the list of nodes: each replica has addresses of its own, so a file from before two
		// changes would be for a person to accept.
		for i, how := range []string{"restarted with an older file", "flushed", "restarted empty"} {
			back := time.Now()
			must(c.t, forgetting[how](c.t.Context(), c.nodes.Node(i)))
			c.stored(i, back)
			c.granted()
			c.leaseOnAll()
		}
		c.ticks(2)
	},
	"all nodes are restarted, and then all replicas": func(c *cluster) {
		for i := range c.nodes.Addrs() {
			back := time.Now()
			must(c.t, c.nodes.Node(i).Kill(), c.nodes.Node(i).Restart(c.t.Context()))
			c.stored(i, back)
			c.granted()
			c.leaseOnAll()
		}
		for _, name := range slices.Sorted(maps.Keys(c.replicas)) {
			c.replicas[name].signal(syscall.SIGTERM)
			c.restart(c.replicas[name])
			c.ticks(2)
		}
	},
}

func TestEachTick_RunsOnceInAllTroubles(t *testing.T) {
	oneOfMany(t)
	cases := beside{t: t}
	defer cases.Wait()
	for name, trouble := range troubles {
		cases.run(name, func(t *testing.T) {
			c := startTicking(t, 2, eachTick())
			trouble(c)
			c.wantEachTick()
		})
	}
}

// eachTick is for replicas whose job runs each of its ticks. A tick is lost if its leader loses the lease before it has
// started the run. So the TTL is long enough that no leader does so because the machine is busy.
func eachTick() settings {
	s := steady()
	s.TTL, s.RunFor = 5*time.Second, 50*time.Millisecond
	return s
}

// startTicking starts three replicas on three nodes, with links to the first of these. When it returns, all nodes
// vote for the job's ticks, so each of them may lose its state or die.
func startTicking(t *testing.T, linked int, s settings) *cluster {
	t.Helper()
	c := startLinked(t, startNodes(t, 3, persist...), linked, s)
	c.allStore()
	c.leaseOnAll()
	return c
}

// granted waits until no node has a guard, so that another node may lose its state.
func (c *cluster) granted() {
	c.t.Helper()
	l := c.locker()
	poll(c.t, "end of the guards", func() bool { return allGrant(c.t.Context(), l) })
}

// ticks waits for the runs of n future ticks.
func (c *cluster) ticks(n int) {
	c.t.Helper()
	c.ranAfter(time.Now().Add(time.Duration(n-1) * tickEvery))
}

// justRan waits for the end of a run. The next tick is then most of a second away.
func (c *cluster) justRan() integration.Event {
	c.t.Helper()
	return c.ranAfter(time.Now())
}
