package nodetest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/alicebob/miniredis/v2"
)

// Cluster is a number of independent nodes (not a Redis Cluster). Its Faults hold for every Links.
// Its methods, and those of Links, may be called from many goroutines.
type Cluster struct {
	*Faults
	nodes  []*node
	served sync.WaitGroup // one for each connection that a node still serves

	// mu guards what follows, what the nodes say it guards, all Faults and all connections. It is
	// never held across a call into a node or a client.
	mu    sync.Mutex
	links []*Links
	conns map[*conn]struct{}
}

// Start starts n empty nodes whose TTLs follow the clock.
func Start(n int) *Cluster {
	c := &Cluster{conns: make(map[*conn]struct{})}
	c.Faults = &Faults{cluster: c, of: make([]fault, n)}
	for i := range n {
		c.nodes = append(c.nodes, c.newNode(fmt.Sprintf("127.0.0.1:%d", 7001+i)))
	}
	return c
}

// Addrs returns the address of each node as clients and errors name it. Nothing listens there.
func (c *Cluster) Addrs() []string {
	var addrs []string
	for _, n := range c.nodes {
		addrs = append(addrs, n.addr)
	}
	return addrs
}

// Node returns node i, to look at its data or change it past every fault. Do not Close or Restart
// it, nor set its time, its error or its server's pre-hook: the methods of Cluster do. A password on
// it shuts the Cluster out too.
func (c *Cluster) Node(i int) *miniredis.Miniredis { return c.nodes[i].redis }

// Kill stops node i like SIGKILL: its connections break, what is under way on them is lost, and dials
// are refused until Restart. A request that the node has already read may still take effect.
func (c *Cluster) Kill(i int) {
	c.set([]int{i}, func(f *fault) { f.dead = true })
}

// Restart kills node i if it lives and brings it back with its data, but as a new server process:
// with another run id and replication id and without cached scripts. Other faults of the node, its
// clock and what SetInfo, Deny and SetPreHook said stay.
func (c *Cluster) Restart(i int) {
	c.Kill(i)
	c.FlushScripts(i)
	c.change(i, (*state).renew)
	c.set([]int{i}, func(f *fault) { f.dead = false })
}

// Promote replaces node i by a replica that has all its data: a failover behind one address. What
// clients see is a Restart. A failover that loses writes is RestartFrom.
func (c *Cluster) Promote(i int) { c.Restart(i) }

// Wipe makes node i forget all its data, as FLUSHALL does. A node that came back empty is Kill, Wipe,
// Restart.
func (c *Cluster) Wipe(i int) { c.nodes[i].redis.FlushAll() }

// FlushScripts makes node i forget the scripts it has cached, as SCRIPT FLUSH does.
func (c *Cluster) FlushScripts(i int) { c.nodes[i].do([]string{"SCRIPT", "FLUSH"}) }

// Heal ends all faults of the given nodes, of all without an argument: those set on the Cluster and
// those set on any Links. It does not restart a killed node.
func (c *Cluster) Heal(nodes ...int) {
	c.Faults.Heal(nodes...)
	c.mu.Lock()
	links := slices.Clone(c.links)
	c.mu.Unlock()
	for _, l := range links {
		l.Heal(nodes...)
	}
}

// Close closes all Links, then stops all nodes, and returns when nothing of them is running any more.
func (c *Cluster) Close() {
	c.mu.Lock()
	links := c.links
	c.mu.Unlock()
	for _, l := range links {
		l.Close()
	}
	c.Cut() // what hung nodes have not received yet is lost
	for _, n := range c.nodes {
		n.redis.CtxCancel() // ends blocking commands
	}
	// miniredis must not be closed under a script that still runs.
	c.served.Wait()
	for _, n := range c.nodes {
		n.redis.Close()
	}
}
