package redlocktest

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

// Faults breaks the way to nodes, for all processes or for one. Every method takes node indexes, from 0; none mean
// all nodes. A fault takes effect at once, also on open connections, and adds to the others until Heal. A mistake,
// as a node that does not exist, ends the test.
type Faults struct {
	nodes *Nodes
	of    *nodetest.Faults
}

// Cut makes nodes look like dead hosts: connections break, dials are refused at once. They live on.
func (f Faults) Cut(nodes ...int) {
	f.nodes.t.Helper()
	f.nodes.check("Cut", true, nodes...)
	f.of.Cut(nodes...)
}

// Hang makes nodes silent, as a network does that drops packets. On Heal all that was sent arrives late, in both
// directions.
func (f Faults) Hang(nodes ...int) {
	f.nodes.t.Helper()
	f.nodes.check("Hang", true, nodes...)
	f.of.Hang(nodes...)
}

// Delay makes what is sent take d in each direction. The delays of [Nodes] and of a [Process] add up.
func (f Faults) Delay(d time.Duration, nodes ...int) {
	f.nodes.t.Helper()
	f.nodes.check("Delay", true, nodes...)
	if d < 0 {
		f.nodes.t.Fatalf("redlocktest: a delay of %v, it must not be negative", d)
	}
	f.of.Delay(d, nodes...)
}

// DropReplies lets requests take effect, but breaks the connection where the reply would arrive.
func (f Faults) DropReplies(nodes ...int) {
	f.nodes.t.Helper()
	f.nodes.check("DropReplies", true, nodes...)
	f.of.DropReplies(nodes...)
}

// Heal ends all faults that were set here. It does not start a node that was stopped.
func (f Faults) Heal(nodes ...int) {
	f.nodes.t.Helper()
	f.nodes.check("Heal", false, nodes...)
	f.of.Heal(nodes...)
}
