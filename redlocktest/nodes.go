package redlocktest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
)

const (
	maxNodes = 15

	// upFor is how long nodes seem to have been up: above any lease, so that they grant at once.
	upFor = 1000 * time.Hour
)

// go-redis writes each failed dial to stderr; tests of faults make thousands.
func init() { logging.Disable() }

// Nodes are independent Redis masters in memory. A fault set on them holds for every process.
type Nodes struct {
	Faults
	t       testing.TB
	cluster *nodetest.Cluster
	options []redlock.Option

	mu       sync.Mutex // guards the fields below
	stopped  []bool     // by node
	replicas int
	over     bool // the test
}

// New starts n nodes, 1 to 15, for the length of a test. They have been up for long: they grant leases at once.
// opts are those of the service's Lockers: what [Process.Locker], and so each [Replica], gets.
//
// In a bubble of testing/synctest call it inside, with the bubble's t.
func New(t testing.TB, n int, opts ...redlock.Option) *Nodes {
	t.Helper()
	if n < 1 || n > maxNodes {
		t.Fatalf("redlocktest: %d nodes asked for, it must be 1 to %d", n, maxNodes)
	}
	nodes := &Nodes{t: t, cluster: nodetest.Start(n), options: opts, stopped: make([]bool, n)}
	nodes.Faults = Faults{nodes, nodes.cluster.Faults}
	t.Cleanup(nodes.close)
	for i := range n {
		nodes.cluster.Offset(i, -upFor)
	}
	nodes.meet()
	for i := range n {
		nodes.cluster.Offset(i, 0)
	}
	return nodes
}

// meet has the nodes used for the first time: that is when they begin to be up.
func (n *Nodes) meet() {
	n.t.Helper()
	links := n.cluster.Links()
	defer links.Close()
	l, err := redlock.New(links.Clients(), n.options...)
	if err != nil {
		n.t.Fatalf("redlocktest: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, _ = l.TryAcquire(ctx, "redlocktest") // refused: they are new
	if err := l.Close(ctx); err != nil {    // when all have answered
		n.t.Fatalf("redlocktest: %v", err)
	}
}

// close ends the nodes. What uses them has ended before: cleanups run in reverse order.
func (n *Nodes) close() {
	n.mu.Lock()
	n.over = true
	n.mu.Unlock()
	n.cluster.Close()
}

// Addrs names the nodes, as errors do. Nothing listens there.
func (n *Nodes) Addrs() []string { return n.cluster.Addrs() }

// Stop ends a node's server like SIGKILL. Its data is there again after [Nodes.Restart].
func (n *Nodes) Stop(node int) {
	n.t.Helper()
	n.check("Stop", true, node)
	n.mark(node, true)
	n.cluster.Kill(node)
}

// Restart ends a node's server, if it runs, and starts it again with its data, as a new process: what it granted
// before does not count, and it grants nothing for the longest lease, as a real node in its place.
func (n *Nodes) Restart(node int) {
	n.t.Helper()
	n.check("Restart", false, node)
	n.cluster.Restart(node)
	n.mark(node, false)
}

// Wipe makes a node forget all its data, as FLUSHALL does.
func (n *Nodes) Wipe(node int) {
	n.t.Helper()
	n.check("Wipe", false, node)
	n.cluster.Wipe(node)
}

// Jump steps a node's clock by d. Back, its keys still run out when they would have.
func (n *Nodes) Jump(node int, d time.Duration) {
	n.t.Helper()
	n.check("Jump", false, node)
	n.cluster.Jump(node, d)
}

func (n *Nodes) mark(node int, stopped bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopped[node] = stopped
}

// check ends the test where the call is a mistake. running: it makes no sense on a stopped node.
func (n *Nodes) check(call string, running bool, nodes ...int) {
	n.t.Helper()
	n.mu.Lock()
	over, stopped := n.over, slices.Clone(n.stopped)
	n.mu.Unlock()
	if over {
		panic(fmt.Sprintf("redlocktest: %s after the end of %s", call, n.t.Name())) // there is no test to fail
	}
	for _, node := range nodes {
		if node < 0 || node >= len(stopped) {
			n.t.Fatalf("redlocktest: %s of node %d, they are 0 to %d", call, node, len(stopped)-1)
		}
		if running && stopped[node] {
			n.t.Fatalf("redlocktest: %s of node %d, which is stopped: Restart it first", call, node)
		}
	}
}
