package redlock_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// A server that restarted with its data has the guard of its earlier run until somebody acquires something there. Here that
// happens while one extension asks the server through two addresses.
func TestExtend_ByOneServerThatChangesItsGuardInBetween(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		process, slow := c.Links(), c.Links() // two processes in one, so that only one address is slow
		clients := process.Clients()
		clients[1] = slow.Clients()[1]
		l, err := redlock.New(clients)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Heal(); _ = l.Close(context.Background()) })
		other, _ := c.Locker()
		warmUp(t, l)
		warmUp(t, other)
		process.Cut(2)
		lease := mustAcquire(t, l, "x") // on nodes 0 and 1
		c.Restart(1)
		process.Lead(0, 1)
		l.Nodes(t.Context()) // connects again
		slow.Delay(20*time.Millisecond, 1)
		extended := make(chan error, 1)
		go func() { extended <- lease.Extend(t.Context()) }()
		time.Sleep(10 * time.Millisecond)
		_, _ = other.TryAcquire(t.Context(), "y") // starts a guard on node 1
		err = <-extended
		want.Err(t, err, redlock.ErrNoQuorum)
		want.Text(t, err, "1 of 3 nodes", "it is the same server as "+c.Addrs()[0])
	})
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
