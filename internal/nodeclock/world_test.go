package nodeclock_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlockfx/redlockfx/internal/nodeclock"
)

const (
	ms         = time.Millisecond
	drift      = 0.01
	spare      = 0.05
	skew       = time.Second
	quarantine = 10 * time.Second
)

// world has a process and nodes, and their clocks.
type world struct {
	*nodeclock.Clocks
	start time.Time
	now   time.Duration   // of the process's own clock, since start
	nodes []time.Duration // their clocks, since 1970
	rates []float64       // of the nodes' clocks, less 1

	servers []uint64 // what they say; 0: nothing
}

func newWorld(nodes int) *world {
	w := &world{
		Clocks: nodeclock.New(nodeclock.Config{Nodes: nodes, Quorum: nodes/2 + 1, Drift: drift, Spare: spare,
			MaxSkew: skew, Quarantine: func() time.Duration { return quarantine }}),
		start:   time.Now(), // any instant will do
		nodes:   make([]time.Duration, nodes),
		rates:   make([]float64, nodes),
		servers: make([]uint64, nodes),
	}
	for i := range w.nodes {
		w.nodes[i] = time.Duration(1_700_000_000+100*i) * time.Second
	}
	return w
}

func (w *world) instant() time.Time { return w.start.Add(w.now) }

func (w *world) pass(d time.Duration) {
	w.now += d
	for i := range w.nodes {
		w.nodes[i] += d + time.Duration(float64(d)*w.rates[i])
	}
}

// request is one that a node may answer later.
type request struct {
	node           int
	sent, received time.Time
	micros         int64
	server         uint64
}

func (w *world) send(node int) *request { return &request{node: node, sent: w.instant()} }

func (w *world) read(r *request) {
	r.micros, r.server = w.nodes[r.node].Microseconds(), w.servers[r.node]
}

func (w *world) receive(r *request) { r.received = w.instant() }

func (w *world) note(r *request) (jumped time.Duration) {
	return w.Note(r.node, r.sent, r.received, r.micros, r.server)
}

// ask makes a request that takes rtt, half of it each way.
func (w *world) ask(node int, rtt time.Duration) (jumped time.Duration) {
	r := w.send(node)
	w.pass(rtt / 2)
	w.read(r)
	w.pass(rtt / 2)
	w.receive(r)
	return w.note(r)
}

// askAll makes a round over these nodes, or over all, that must show nothing.
func (w *world) askAll(t *testing.T, nodes ...int) {
	t.Helper()
	if nodes == nil {
		for i := range w.nodes {
			nodes = append(nodes, i)
		}
	}
	for _, i := range nodes {
		if by := w.ask(i, ms); by != 0 {
			t.Errorf("node %d jumped by %v", i, by)
		}
	}
}

// distrust returns why a grant of the node would not count now.
func (w *world) distrust(node int) error { return w.Distrust(node, w.instant(), w.instant()) }

// jumped fails the test unless the node is distrusted for just that jump, to within 20 ms.
func (w *world) jumped(t *testing.T, node int, by time.Duration) {
	t.Helper()
	err := w.distrust(node)
	if jump, _ := stated(t, err); (err == nil) != (by == 0) || !near(jump, by, 20*ms) {
		t.Errorf("node %d: want a jump by %v, have %v", node, by, err)
	}
}

// stated returns what the error says: the jump, and for how long the node does not vote.
func stated(t rapid.TB, err error) (jump, left time.Duration) {
	t.Helper()
	if err != nil {
		words := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == ' ' || r == ':' })
		var problem, problem2 error
		jump, problem = time.ParseDuration(words[4])
		left, problem2 = time.ParseDuration(words[len(words)-1])
		if err := cmp.Or(problem, problem2); err != nil {
			t.Fatal(err)
		}
	}
	return jump, left
}

// truth fails the test unless the bounds of the node's clock contain its true value, and are within that width.
func (w *world) truth(t rapid.TB, node int, within time.Duration) {
	t.Helper()
	earliest, latest, ok := w.Bounds(node, w.instant())
	clock := w.nodes[node].Microseconds()
	if !ok || earliest > clock || clock > latest || latest-earliest > within.Microseconds() {
		t.Fatalf("node %d: bounds %d to %d µs off, %v", node, earliest-clock, latest-clock, ok)
	}
}

func near(a, b, within time.Duration) bool { return (a - b).Abs() <= within }
