package redlocktest

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
)

// Process is one process that uses the nodes, by clients of its own. A fault set on it holds for it alone.
type Process struct {
	Faults
	Nodes *Nodes
	links *nodetest.Links
}

// Process makes another process.
func (n *Nodes) Process() *Process {
	n.t.Helper()
	n.check("Process", false)
	links := n.cluster.Links()
	return &Process{Faults: Faults{n, links.Faults}, Nodes: n, links: links}
}

// Clients are one for each node, the same ones at each call: what a service passes to redlock.New, or to the fx
// module as nodes.
func (p *Process) Clients() []redis.UniversalClient { return p.links.Clients() }

// Locker makes a Locker that is closed at the end of the test. opts follow those of [New].
func (p *Process) Locker(opts ...redlock.Option) *redlock.Locker {
	n := p.Nodes
	n.t.Helper()
	n.check("Locker", false)
	l, err := redlock.New(p.Clients(), slices.Concat(n.options, opts)...)
	if err != nil {
		n.t.Fatalf("redlocktest: %v", err)
	}
	n.t.Cleanup(func() {
		n.cluster.Heal() // or it would wait for what it has asked nodes that hang
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = l.Close(ctx) // leases that the test has left are its own affair
	})
	return l
}
