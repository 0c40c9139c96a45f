package redlocktest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/redlockfx/redlockfx/internal/testkit/aged"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
)

const maxNodes = 15

// go-redis writes each failed dial to stderr; tests of faults make thousands.
func init() { logging.Disable() }

// Nodes are independent Redis masters in memory. Its methods may be called from many goroutines. A fault set on it
// holds for every process.
type Nodes struct {
	Faults
	owner   owner
	cluster *nodetest.Cluster
	options []redlock.Option
	close   sync.Once

	mu       sync.Mutex // guards the fields below
	stopped  []bool     // by node
	replicas int
	ends     []func() // each stops a user of the nodes, and may be called again
	closed   bool
}

// New starts n nodes, 1 to 15, and closes them at the end of the test. They look like nodes that have been up for a
// long time, so they grant leases at once. Every [Process.Locker] and [Replica] gets the options.
//
// With testing/synctest, call New inside the bubble, with the bubble's t.
func New(t testing.TB, n int, opts ...redlock.Option) *Nodes {
	t.Helper()
	nodes, err := start(t, n, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nodes.Close)
	return nodes
}

// Start is like New, but without a test: the caller closes the nodes. A call that would fail the test panics.
func Start(n int, opts ...redlock.Option) (*Nodes, error) { return start(program{}, n, opts) }

func start(owner owner, n int, opts []redlock.Option) (*Nodes, error) {
	if n < 1 || n > maxNodes {
		return nil, fmt.Errorf("redlocktest: %d nodes, the number must be 1 to %d", n, maxNodes)
	}
	cluster, err := aged.Start(n, opts...)
	if err != nil {
		return nil, fmt.Errorf("redlocktest: %w", err)
	}
	nodes := &Nodes{owner: owner, cluster: cluster, options: opts, stopped: make([]bool, n)}
	nodes.Faults = Faults{nodes, cluster.Faults}
	return nodes, nil
}

// Close stops the Replicas, closes the Lockers and clients, and ends the nodes. It returns when none of them is running
// any more. That takes up to a second if a dial has just failed. Closing again does nothing.
func (n *Nodes) Close() {
	n.close.Do(func() {
		n.mu.Lock()
		ends := slices.Clone(n.ends)
		n.mu.Unlock()
		for _, end := range slices.Backward(ends) {
			end()
		}
		n.mu.Lock()
		n.closed = true
		n.mu.Unlock()
		n.cluster.Close()
	})
}

// atEnd calls end once, at the end of the test or in Close, whichever comes first.
func (n *Nodes) atEnd(end func()) {
	once := sync.OnceFunc(func() {
		n.cluster.Heal() // otherwise end would wait for requests to nodes that hang
		end()
	})
	n.mu.Lock()
	n.ends = append(n.ends, once)
	n.mu.Unlock()
	n.owner.Cleanup(once)
}

// Addrs returns the addresses of the nodes as errors name them. Nothing listens there.
func (n *Nodes) Addrs() []string { return n.cluster.Addrs() }

// Stop ends the server of a node like SIGKILL. [Nodes.Restart] brings its data back.
func (n *Nodes) Stop(node int) {
	n.owner.Helper()
	n.check("Stop", true, node)
	n.setStopped(node, true)
	n.cluster.Kill(node)
}

// Restart starts the server of a node again with its data, and stops it before if it runs. Like a real node after a
// restart, it grants nothing until the longest lease from before would have expired.
func (n *Nodes) Restart(node int) {
	n.owner.Helper()
	n.check("Restart", false, node)
	n.cluster.Restart(node)
	n.setStopped(node, false)
}

// Wipe deletes all data of a node, like FLUSHALL. The library then treats it as a new node, which grants nothing for
// the longest TTL after its first use.
func (n *Nodes) Wipe(node int) {
	n.owner.Helper()
	n.check("Wipe", false, node)
	n.cluster.Wipe(node)
}

// Jump steps the clock of a node by d. After a step forward its keys expire earlier by d. After a step back they expire
// when they would have expired without it.
func (n *Nodes) Jump(node int, d time.Duration) {
	n.owner.Helper()
	n.check("Jump", false, node)
	n.cluster.Jump(node, d)
}

func (n *Nodes) setStopped(node int, stopped bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopped[node] = stopped
}

// check fails the test if the call is a mistake. With running, a stopped node is a mistake too.
func (n *Nodes) check(call string, running bool, nodes ...int) {
	n.owner.Helper()
	n.mu.Lock()
	closed, stopped := n.closed, slices.Clone(n.stopped)
	n.mu.Unlock()
	if closed {
		panic(fmt.Sprintf("redlocktest: %s after the nodes of %s were closed", call, n.owner.Name())) // there is no test left to fail
	}
	for _, node := range nodes {
		if node < 0 || node >= len(stopped) {
			n.owner.Fatalf("redlocktest: %s of node %d, but nodes are 0 to %d", call, node, len(stopped)-1)
		}
		if running && stopped[node] {
			n.owner.Fatalf("redlocktest: %s of node %d, which is stopped: Restart it first", call, node)
		}
	}
}
