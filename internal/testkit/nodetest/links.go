package nodetest

import (
	"context"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Links are the links of one process (one replica of a service) to all nodes. Its Faults affect only
// that process.
type Links struct {
	*Faults
	clients []redis.UniversalClient
	direct  bool // no fault affects it, and its requests do not count

	// Guarded by Cluster.mu.
	closed  bool
	refused time.Time // last dial refused while not closed
	leads   [][]int   // by node: the nodes to which new connections to its address lead in turn
}

// Links makes the links of another process. Closing the Cluster closes them too.
func (c *Cluster) Links() *Links { return c.newLinks(false) }

// Raw returns a client of each node for the test itself. No fault affects it, not even Kill, and its
// requests do not count. SetInfo, Deny and SetPreHook do affect it.
func (c *Cluster) Raw() []*redis.Client {
	var raw []*redis.Client
	for _, client := range c.raw().clients {
		raw = append(raw, client.(*redis.Client))
	}
	return raw
}

// raw returns the links of Raw, the same ones at each call.
func (c *Cluster) raw() *Links {
	c.mu.Lock()
	for _, l := range c.links {
		if l.direct {
			c.mu.Unlock()
			return l
		}
	}
	c.mu.Unlock()
	return c.newLinks(true)
}

func (c *Cluster) newLinks(direct bool) *Links {
	l := &Links{Faults: &Faults{cluster: c, of: make([]fault, len(c.nodes))}, direct: direct}
	for i := range c.nodes {
		l.leads = append(l.leads, []int{i})
		l.clients = append(l.clients, redis.NewClient(l.Options(i)))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.links = append(c.links, l)
	return l
}

// Clients returns one client per node, the same ones at each call, with go-redis's default options:
// they try four times and wait five seconds for a reply, whatever the context says.
func (l *Links) Clients() []redis.UniversalClient { return slices.Clone(l.clients) }

// Options returns new options for a client of node i: go-redis's defaults with the link as Dialer.
// Maintenance notifications are off, because they look up names in the DNS. The caller must close such
// a client before the Links.
func (l *Links) Options(i int) *redis.Options {
	return &redis.Options{
		Addr: l.cluster.nodes[i].addr,
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return l.dial(ctx, i)
		},
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled, EndpointType: maintnotifications.EndpointTypeNone,
		},
	}
}

// Lead makes the address of node i lead to node to, as when a DNS record changes. The connections to
// that address break. The next dial reaches node to, and has the faults of node to.
func (l *Links) Lead(i, to int) {
	c := l.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	l.leads[i] = []int{to}
	for conn := range c.conns {
		if conn.links == l && conn.address == i {
			conn.broken = true
			conn.wake()
		}
	}
}

// LeadInTurn makes new connections to the address of node i lead to these nodes in turn, as behind a load balancer. Open
// connections stay where they are.
func (l *Links) LeadInTurn(i int, to ...int) {
	l.cluster.mu.Lock()
	defer l.cluster.mu.Unlock()
	l.leads[i] = slices.Clone(to)
}

// Close ends the process: it closes the clients and every other connection, and refuses dials. As with
// a real process, what it has sent still arrives. If the node hangs, it arrives after Heal.
//
// If a dial was refused within the last second, Close waits until that second is over, because go-redis
// continues to dial in the background for that long after its client is closed.
func (l *Links) Close() {
	c := l.cluster
	c.mu.Lock()
	l.closed = true
	quiet := l.refused.Add(time.Second)
	c.mu.Unlock()
	for _, client := range l.clients {
		_ = client.Close() // fails only if a connection or the client is already closed
	}
	c.mu.Lock()
	for conn := range c.conns {
		if conn.links == l {
			conn.client.close()
		}
	}
	c.mu.Unlock()
	time.Sleep(time.Until(quiet))
}

func (l *Links) dial(ctx context.Context, address int) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := l.cluster
	c.mu.Lock()
	conn := newConn(l, address)
	if l.closed || conn.fault().refuses() {
		if !l.closed {
			l.refused = time.Now()
		}
		c.mu.Unlock()
		return nil, conn.client.fail("dial", os.NewSyscallError("connect", syscall.ECONNREFUSED))
	}
	c.conns[conn] = struct{}{}
	c.served.Add(1)
	c.mu.Unlock()
	// The node's goroutine ends when the connection breaks or is closed; Cluster.Close waits for it.
	c.nodes[conn.node].server.ServeConn(conn.server)
	return conn.client, nil
}
