package nodetest

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// Cluster is a number of independent nodes (not a Redis Cluster). Its Faults hold for every Links.
// Its methods, and those of Links, may be called from many goroutines.
type Cluster struct {
	*Faults
	addrs   []string
	nodes   []*miniredis.Miniredis
	servers []*server.Server
	served  sync.WaitGroup // one for each connection that a node still serves

	// mu guards what follows, all Faults and all connections. It is never held across a call into
	// a node or a client.
	mu    sync.Mutex
	links []*Links
	conns map[*conn]struct{}
}

// Start starts n empty nodes whose TTLs follow the clock.
func Start(n int) *Cluster {
	c := &Cluster{conns: make(map[*conn]struct{})}
	c.Faults = &Faults{cluster: c, of: make([]fault, n)}
	for i := range n {
		node := miniredis.NewMiniRedis()
		node.ClockTTL(true)
		// The first Dial starts a server without a listener, and that cannot fail.
		if conn, err := node.Dial(); err == nil {
			conn.Close()
		}
		c.nodes = append(c.nodes, node)
		c.servers = append(c.servers, node.Server())
		c.addrs = append(c.addrs, fmt.Sprintf("127.0.0.1:%d", 7001+i))
	}
	return c
}

// Addrs returns the address of each node as clients and errors name it. Nothing listens there.
func (c *Cluster) Addrs() []string { return slices.Clone(c.addrs) }

// Node returns node i, to look at its data or change it past every fault. Do not Close or Restart
// it: the methods of Cluster do.
func (c *Cluster) Node(i int) *miniredis.Miniredis { return c.nodes[i] }

// Kill stops node i like SIGKILL: its connections break, what is under way on them is lost, and dials
// are refused until Restart. A request that the node has already read may still take effect.
func (c *Cluster) Kill(i int) {
	c.set([]int{i}, func(f *fault) { f.dead = true })
}

// Restart kills node i if it lives and brings it back with its data, but as a new server process:
// without cached scripts. Other faults of the node stay.
func (c *Cluster) Restart(i int) {
	c.Kill(i)
	nobody := server.NewPeer(bufio.NewWriter(io.Discard))
	c.servers[i].Dispatch(nobody, []string{"SCRIPT", "FLUSH"})
	c.set([]int{i}, func(f *fault) { f.dead = false })
}

// Wipe makes node i forget all its data, as FLUSHALL does. A node that came back empty is Kill, Wipe,
// Restart.
func (c *Cluster) Wipe(i int) { c.nodes[i].FlushAll() }

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
	for _, node := range c.nodes {
		node.CtxCancel() // ends blocking commands
	}
	// miniredis must not be closed under a script that still runs.
	c.served.Wait()
	for _, node := range c.nodes {
		node.Close()
	}
}
