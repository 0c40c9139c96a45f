//go:build unix

package integration_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

var fitOptions = []redlock.Option{
	redlock.WithTTL(2 * time.Second), redlock.WithNodeTimeout(time.Second / 2),
}

func TestNode_ThatMayEvictLocksIsRefusedUntilItDoesNot(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"allkeys-lru", "volatile-lru"} {
		t.Run(policy, func(t *testing.T) {
			nodes := startServers(t, 1, "--maxmemory", "100mb", "--maxmemory-policy", policy)
			var told complaints
			l := lockerOn(t, clients(t, nodes.Addrs()...), append(fitOptions, told.option())...)
			reason := "maxmemory-policy is " + policy
			for range 2 {
				_, err := l.TryAcquire(t.Context(), "x")
				if !errors.Is(err, redlock.ErrNoQuorum) || !strings.Contains(err.Error(), reason) {
					t.Errorf("got %v, want that there is no quorum, since its %s", err, reason)
				}
			}
			n := l.Nodes(t.Context())[0]
			if n.Eviction != policy || n.Err == nil || !strings.Contains(n.Err.Error(), reason) {
				t.Errorf("the node is %+v, want it refused, since its %s", n, reason)
			}
			wantTold(t, &told, "inspect: .*"+reason)

			server := admins(t, nodes.Addrs())[0]
			if err := server.ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err(); err != nil {
				t.Fatal(err)
			}
			release(t, acquire(t, l, "x"))
			if n := l.Nodes(t.Context())[0]; n.Eviction != "noeviction" || n.Err != nil {
				t.Errorf("the node is %+v, want one that evicts nothing", n)
			}
		})
	}
}

func TestNode_WithoutALimitOfMemoryMayHaveAnyPolicy(t *testing.T) {
	t.Parallel()
	nodes := startServers(t, 1, "--maxmemory-policy", "allkeys-lru")
	l := lockerOn(t, clients(t, nodes.Addrs()...), fitOptions...)
	release(t, acquire(t, l, "x"))
}

// It would vote twice.
func TestNode_ListedUnderTwoAddressesIsRefusedOnce(t *testing.T) {
	t.Parallel()
	nodes := startServers(t, 2)
	link, err := nodes.Node(0).Proxy()
	if err != nil {
		t.Fatal(err)
	}
	var told complaints
	first, second := nodes.Node(0).Addr(), link.Addr()
	l := lockerOn(t, clients(t, first, second, nodes.Node(1).Addr()),
		append(fitOptions, told.option())...)
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
	if err := nodes.Node(1).Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.TryAcquire(t.Context(), "x"); !errors.Is(err, redlock.ErrNoQuorum) {
		t.Errorf("one server is a majority of three: %v, want %v", err, redlock.ErrNoQuorum)
	}
}
