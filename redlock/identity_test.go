package redlock_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// An address may lead to another server from one connection to the next, without a failed call: behind a DNS record
// that changes, a reused IP address or a load balancer.
func TestTryAcquire_ThroughTwoAddressesOfOneServer(t *testing.T) {
	for _, opts := range [][]redlock.Option{nil, {redlock.WithoutRestartGuard()}} {
		bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
			l, process := c.Locker()
			other, otherProcess := c.Locker()
			warmUp(t, other)
			process.Cut(1)
			lease := mustAcquire(t, l, "x") // on nodes 0 and 2
			synctest.Wait()
			otherProcess.Lead(0, 1)
			for range 3 {
				_, err := other.TryAcquire(t.Context(), "x")
				want.Err(t, err, redlock.ErrNoQuorum)
				want.Text(t, err, "it is the same server as "+c.Addrs()[0], "held by")
				synctest.Wait() // the leftover of that attempt is removed
			}
			if !lease.Valid() {
				t.Error("lost")
			}
			fresh, freshProcess := c.Locker()
			freshProcess.Lead(0, 1)
			warmUp(t, fresh)
			synctest.Wait() // it has inspected all nodes
			for _, l := range []*redlock.Locker{other, fresh} {
				unfit := slices.DeleteFunc(l.Nodes(t.Context()), func(n redlock.NodeStatus) bool { return n.Err == nil })
				if len(unfit) != 1 || !strings.Contains(unfit[0].Err.Error(), "it is the same server as ") {
					t.Errorf("unfit: %+v, want one of the two addresses", unfit)
				}
			}
		}, opts...)
	}
}

// The node's clock may have been set back since it granted the lock, so that it still holds a lease that has expired
// elsewhere.
func TestExtend_ByANodeThatAnswersForTheFirstTimeDoesNotCount(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, process := c.Locker()
		warmUp(t, l)
		process.DropReplies(2)
		lease := mustAcquire(t, l, "x") // also on node 2, whose answer nobody has received
		synctest.Wait()
		process.Heal()
		process.Hang(1)
		err := lease.Extend(t.Context())
		want.Err(t, err, redlock.ErrNoQuorum)
		want.Text(t, err, "its first answer about this lease")
		if err := lease.Extend(t.Context()); err != nil {
			t.Errorf("when its clock is known: %v", err)
		}
	})
}
