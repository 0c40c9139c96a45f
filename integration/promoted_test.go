//go:build unix

package integration_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/redlock"
)

// guardedOptions are for tests that wait for guards.
var guardedOptions = []redlock.Option{redlock.WithTTL(shortTTL), redlock.WithNodeTimeout(shortTTL / 5)}

// A replica that is promoted may lack the last locks of its master, and it has all its data: only the identities that
// the server reports show that it must not grant yet.
func TestReplica_IsRefusedUntilItIsPromotedAndThenGuarded(t *testing.T) {
	t.Parallel()
	nodes, replica := startNodes(t, 3), startServers(t, 1).Addrs()[0]
	servers := admins(t, append(nodes.Addrs(), replica))
	host, port, err := net.SplitHostPort(nodes.Node(2).Addr())
	must(t, err, servers[2].ConfigSet(t.Context(), "repl-diskless-sync-delay", "0").Err(),
		servers[3].ReplicaOf(t.Context(), host, port).Err())
	masters := lockerOn(t, clients(t, nodes.Addrs()...), guardedOptions...)
	held := acquire(t, masters, "x", redlock.WithAutoExtend(redlock.Extension{}))
	poll(t, "lease on the masters and on the replica", func() bool {
		return records.Default.On(t, "x", servers...) == len(servers)
	})

	var reported complaints
	addrs := []string{nodes.Node(0).Addr(), nodes.Node(1).Addr(), replica}
	l := reported.of(lockerOn(t, clients(t, addrs...), guardedOptions...))
	release(t, acquire(t, l, "y")) // the others are a majority
	status := func() redlock.NodeStatus { return l.Nodes(t.Context())[2] }
	if n := status(); n.Role != "slave" || n.Err == nil || !strings.Contains(n.Err.Error(), "it is a replica") {
		t.Errorf("the replica is %+v, want it refused as such", n)
	}
	wantReported(t, &reported, "inspect: .* it is a replica")

	must(t, nodes.Node(2).Kill())
	promoted := time.Now()
	must(t, servers[3].ReplicaOf(t.Context(), "NO", "ONE").Err(), nodes.Node(1).Kill())
	poll(t, "guard of the promoted node", func() bool {
		_, err := l.TryAcquire(t.Context(), "y")
		if err == nil {
			t.Fatalf("the node granted %v after its promotion", time.Since(promoted))
		}
		n := status()
		return n.Role == "master" && n.Err == nil && n.Guard > 0
	})
	acquire(t, l, "x")
	if after := time.Since(promoted); after < shortTTL || held.Valid() {
		t.Errorf("the node granted %v after its promotion, want %v at least; the first holder is valid: %v",
			after, shortTTL, held.Valid())
	}
	held.Abandon() // one of its nodes is left
}
