//go:build unix

package integration_test

import (
	"errors"
	"regexp"
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// Without a limit of its memory a server evicts nothing.
func TestNode_ThatMayEvictLocksIsRefusedUntilItDoesNot(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, 1, "--maxmemory-policy", "allkeys-lru")
	server := admins(t, nodes.Addrs())[0]
	options := []redlock.Option{redlock.WithTTL(ttl), redlock.WithNodeTimeout(longTimeout)}
	release(t, acquire(t, lockerOn(t, clients(t, nodes.Addrs()...), options...), "x"))

	must(t, server.ConfigSet(t.Context(), "maxmemory", "100mb").Err())
	var told complaints
	l := lockerOn(t, clients(t, nodes.Addrs()...), append(options, told.option())...)
	const reason = "maxmemory-policy is allkeys-lru"
	for range 2 {
		_, err := l.TryAcquire(t.Context(), "x")
		want.Err(t, err, redlock.ErrNoQuorum)
		want.Text(t, err, reason)
	}
	n := l.Nodes(t.Context())[0]
	want.Text(t, n.Err, reason)
	wantTold(t, &told, "inspect: .*"+reason)

	must(t, server.ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err())
	release(t, acquire(t, l, "x"))
	after := l.Nodes(t.Context())[0]
	if n.Eviction != "allkeys-lru" || after.Eviction != "noeviction" || after.Err != nil {
		t.Errorf("the node is %+v, then %+v, want one that evicts and then one that does not", n, after)
	}
}

// It would vote twice.
func TestNode_ListedUnderTwoAddressesIsRefusedOnce(t *testing.T) {
	t.Parallel()
	nodes := startServers(t, 2)
	link, err := nodes.Node(0).Proxy()
	must(t, err)
	var told complaints
	first, second := nodes.Node(0).Addr(), link.Addr()
	l := lockerOn(t, clients(t, first, second, nodes.Node(1).Addr()),
		redlock.WithTTL(shortTTL), redlock.WithNodeTimeout(shortTTL/5), told.option())
	for range 2 {
		release(t, acquire(t, l, "x")) // the two servers are a majority
	}
	statuses := l.Nodes(t.Context())
	refused := regexp.MustCompile("it is the same server as (" + first + "|" + second + ")")
	if a, b := statuses[0].Err, statuses[1].Err; (a == nil) == (b == nil) ||
		!refused.MatchString(errors.Join(a, b).Error()) || statuses[2].Err != nil {
		t.Errorf("the nodes are %+v, want one of the first two refused as the other", statuses)
	}
	wantTold(t, &told, "inspect: .*"+refused.String())

	// Without the other server there is no majority.
	must(t, nodes.Node(1).Kill())
	_, err = l.TryAcquire(t.Context(), "x")
	want.Err(t, err, redlock.ErrNoQuorum)
}
