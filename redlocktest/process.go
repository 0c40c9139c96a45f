package redlocktest

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
)

// Process is a process that uses the nodes through its own clients. A fault set on a Process affects only that one.
type Process struct {
	Faults
	Nodes *Nodes
	links *nodetest.Links
}

// Process makes another process.
func (n *Nodes) Process() *Process {
	n.owner.Helper()
	n.check("Process", false)
	links := n.cluster.Links()
	return &Process{Faults: Faults{n, links.Faults}, Nodes: n, links: links}
}

// Clients returns a client for each node, the same ones at each call, for redlock.New or the Node option of the fx
// module. They are closed with the nodes.
func (p *Process) Clients() []redis.UniversalClient { return p.links.Clients() }

// Locker makes a Locker with the options of [New] or [Start], then opts. It is closed at the end of the test, or by
// [Nodes.Close].
func (p *Process) Locker(opts ...redlock.Option) *redlock.Locker {
	n := p.Nodes
	n.owner.Helper()
	n.check("Locker", false)
	l, err := redlock.New(p.Clients(), slices.Concat(n.options, opts)...)
	if err != nil {
		n.owner.Fatalf("redlocktest: %v", err)
	}
	n.atEnd(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = l.Close(ctx) // names the leases that the caller did not release, which is the caller's responsibility
	})
	return l
}
