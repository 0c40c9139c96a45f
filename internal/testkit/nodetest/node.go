package nodetest

import (
	"bufio"
	"bytes"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// node is one server.
type node struct {
	addr   string
	redis  *miniredis.Miniredis
	server *server.Server

	// Guarded by Cluster.mu.
	state    state
	requests int
}

// state is what a node needs for the answers that do not come from miniredis. Its slices are replaced,
// never changed.
type state struct {
	runID, replID string
	said          []param       // by SetInfo
	denied        []string      // by Deny
	offset        time.Duration // of the node's clock
	hook          server.Hook   // by SetPreHook
}

func (c *Cluster) newNode(addr string) *node {
	n := &node{addr: addr, redis: miniredis.NewMiniRedis()}
	n.state.renew()
	n.redis.ClockTTL(true)
	// The first Dial starts a server without a listener, and that cannot fail.
	if conn, err := n.redis.Dial(); err == nil {
		conn.Close()
	}
	n.server = n.redis.Server()
	n.server.SetPreHook(func(p *server.Peer, cmd string, args ...string) bool {
		return c.stateOf(n).answer(p, cmd, args) || n.runScript(p, cmd, args)
	})
	return n
}

func (c *Cluster) stateOf(n *node) state {
	c.mu.Lock()
	defer c.mu.Unlock()
	return n.state
}

// change changes the state of node i while no script runs there.
func (c *Cluster) change(i int, change func(*state)) {
	n := c.nodes[i]
	n.redis.Lock()
	defer n.redis.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&n.state)
}

// insider is the client name of this package.
const insider = "nodetest"

// do runs commands on one connection that bypasses all faults, state and hooks. It returns the last reply.
func (n *node) do(commands ...[]string) (reply any) {
	replies := new(bytes.Buffer)
	peer := server.NewPeer(bufio.NewWriter(replies))
	peer.ClientName = insider
	for _, command := range commands {
		n.server.Dispatch(peer, command)
	}
	peer.Flush()
	reader := bufio.NewReader(replies)
	for _, command := range commands {
		var err error
		if reply, err = server.ParseReply(reader); err != nil {
			panic(fmt.Sprintf("nodetest: node %s: %s: %v", n.addr, command[0], err))
		}
	}
	return reply
}
