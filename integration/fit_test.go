//go:build unix

package integration_test

import (
	"errors"
	"regexp"
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// Otherwise the server would vote twice.
func TestNode_ListedUnderTwoAddressesIsRefusedOnce(t *testing.T) {
	t.Parallel()
	nodes := startServers(t, 2)
	link, err := nodes.Node(0).Proxy()
	must(t, err)
	var reported complaints
	first, second := nodes.Node(0).Addr(), link.Addr()
	l := lockerOn(t, clients(t, first, second, nodes.Node(1).Addr()),
		redlock.WithTTL(shortTTL), redlock.WithNodeTimeout(shortTTL/5), reported.option())
	for range 2 {
		release(t, acquire(t, l, "x")) // the two servers are a majority
	}
	statuses := l.Nodes(t.Context())
	refused := regexp.MustCompile("it is the same server as (" + first + "|" + second + ")")
	if a, b := statuses[0].Err, statuses[1].Err; (a == nil) == (b == nil) ||
		!refused.MatchString(errors.Join(a, b).Error()) || statuses[2].Err != nil {
		t.Errorf("the nodes are %+v, want one of the first two refused as the other", statuses)
	}
	wantReported(t, &reported, "inspect: .*"+refused.String())

	// Without the other server there is no majority.
	must(t, nodes.Node(1).Kill())
	_, err = l.TryAcquire(t.Context(), "x")
	want.Err(t, err, redlock.ErrNoQuorum)
}
