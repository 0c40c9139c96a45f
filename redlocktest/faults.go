package redlocktest

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

// Faults breaks connections to nodes, for all processes or for one. Its methods take node indexes, starting at 0; no
// index means all nodes. A fault takes effect at once, also on open connections. Faults add up until Heal.
type Faults struct {
	nodes *Nodes
	of    *nodetest.Faults
}

// Cut makes nodes look like dead hosts: connections break, and dials are refused. The nodes keep running.
func (f Faults) Cut(nodes ...int) {
	f.nodes.owner.Helper()
	f.nodes.check("Cut", true, nodes...)
	f.of.Cut(nodes...)
}

// Hang makes nodes silent, like a network that drops packets. What was sent in either direction arrives after Heal.
func (f Faults) Hang(nodes ...int) {
	f.nodes.owner.Helper()
	f.nodes.check("Hang", true, nodes...)
	f.of.Hang(nodes...)
}

// Delay makes requests take d, and replies take another d. A delay of [Nodes] and one of a [Process] add up.
func (f Faults) Delay(d time.Duration, nodes ...int) {
	f.nodes.owner.Helper()
	f.nodes.check("Delay", true, nodes...)
	if d < 0 {
		f.nodes.owner.Fatalf("redlocktest: Delay of %v, it must not be negative", d)
	}
	f.of.Delay(d, nodes...)
}

// DropReplies lets requests take effect, but breaks the connection instead of sending the reply.
func (f Faults) DropReplies(nodes ...int) {
	f.nodes.owner.Helper()
	f.nodes.check("DropReplies", true, nodes...)
	f.of.DropReplies(nodes...)
}

// Heal ends the faults that were set on the same value. It does not start a node that was stopped.
func (f Faults) Heal(nodes ...int) {
	f.nodes.owner.Helper()
	f.nodes.check("Heal", false, nodes...)
	f.of.Heal(nodes...)
}
