package nodetest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/alicebob/miniredis/v2"
)

// Cluster is a number of independent nodes (not a Redis Cluster). Its Faults affect every Links. Its
// methods, and those of Links, may be called from many goroutines.
type Cluster struct {
	*Faults
	nodes  []*node
	served sync.WaitGroup // one for each connection that a node still serves

	// mu guards the fields below, all Faults, all connections, and the fields of nodes that name it. It
	// is never held during a call into a node or a client.
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

// Node returns node i, so that a test can read or change its data despite any fault. Do not Close or
// Restart it, and do not set its time, its error or its server's pre-hook: use the methods of Cluster
// for that. A password on it shuts the Cluster out too.
func (c *Cluster) Node(i int) *miniredis.Miniredis { return c.nodes[i].redis }

// Kill stops node i like SIGKILL: its connections break, data in transit is lost, and dials are
// refused until Restart. A request that the node has already read may still take effect.
func (c *Cluster) Kill(i int) {
	c.set([]int{i}, func(f *fault) { f.dead = true })
}

// Restart kills node i if it is running, and brings it back with its data, but as a new server
// process: with another run id and replication id, and without cached scripts. Other faults of the
// node stay, and so do its clock and the effects of SetInfo, Deny and SetPreHook. To clients it looks the
// same when a replica with all data takes over behind the address; for one that lacks writes, use RestartFrom.
func (c *Cluster) Restart(i int) {
	c.Kill(i)
	c.FlushScripts(i)
	c.change(i, (*state).renew)
	c.set([]int{i}, func(f *fault) { f.dead = false })
}

// Wipe deletes all data of node i, as FLUSHALL does. For a node that comes back empty, call Kill,
// Wipe and Restart.
func (c *Cluster) Wipe(i int) { c.nodes[i].redis.FlushAll() }

// FlushScripts makes node i forget the scripts it has cached, as SCRIPT FLUSH does.
func (c *Cluster) FlushScripts(i int) { c.nodes[i].do([]string{"SCRIPT", "FLUSH"}) }

// Heal ends all faults of the given nodes, or of all nodes if none is given: those set on the Cluster
// and those set on any Links. It does not restart a killed node.
func (c *Cluster) Heal(nodes ...int) {
	c.Faults.Heal(nodes...)
	c.mu.Lock()
	links := slices.Clone(c.links)
	c.mu.Unlock()
	for _, l := range links {
		l.Heal(nodes...)
	}
}

// Close closes all Links, then stops all nodes, and returns when none of them is running any more.
func (c *Cluster) Close() {
	c.mu.Lock()
	links := c.links
	c.mu.Unlock()
	for _, l := range links {
		l.Close()
	}
	c.Cut() // drops what hung nodes have not received yet
	for _, n := range c.nodes {
		n.redis.CtxCancel() // ends blocking commands
	}
	// miniredis must not be closed while a script still runs.
	c.served.Wait()
	for _, n := range c.nodes {
		n.redis.Close()
	}
}
