//go:build unix

package integration_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// guardedOptions are for tests that wait for guards.
var guardedOptions = []redlock.Option{redlock.WithTTL(shortTTL), redlock.WithNodeTimeout(shortTTL / 5)}

// A replica may lack the last locks of its master: the guard bridges that.
func TestFailover_PromotedNodeIsGuardedAndCostsNoLease(t *testing.T) {
	t.Parallel()
	group, others := startFailover(t), startServers(t, 2)
	link, err := others.Node(1).Proxy()
	must(t, err)
	nodes := append(clients(t, others.Addrs()...), failoverClient(t, group))
	l := lockerOn(t, nodes, guardedOptions...)
	held := acquire(t, l, "x", redlock.WithAutoExtend(redlock.Extension{}))
	servers := admins(t, append(others.Addrs(), group.Master().Addr()))
	poll(t, "lease on all nodes", func() bool { return records.Default.On(t, "x", servers...) == 3 })
	status := func() redlock.NodeStatus { return l.Nodes(t.Context())[2] }
	if n := status(); n.Addr != "FailoverClient 3" || n.Role != "master" || n.Guard > 0 || n.Err != nil {
		t.Errorf("the group is %+v, want a master without a guard", n)
	}

	killed := time.Now()
	must(t, group.Master().Kill())
	ctx, cancel := context.WithTimeout(t.Context(), promotion)
	defer cancel()
	promoted, err := group.Promoted(ctx)
	must(t, err)
	t.Logf("promoted after %v", time.Since(killed))
	poll(t, "guard after the promotion", func() bool {
		n := status()
		return n.Err == nil && n.Guard > 0
	})

	// This process needs the group.
	link.Refuse()
	rival := lockerOn(t, append(clients(t, others.Node(0).Addr(), link.Addr()),
		failoverClient(t, group)), guardedOptions...)
	_, err = rival.TryAcquire(t.Context(), "y")
	want.Err(t, err, redlock.ErrGuarded)
	acquire(t, rival, "y")
	if after := time.Since(killed); after < shortTTL {
		t.Errorf("the group granted %v after its master was killed, want %v at least", after, shortTTL)
	}
	if n := status(); n.Guard > 0 || n.Err != nil {
		t.Errorf("when it grants, the group is %+v", n)
	}
	master := admins(t, []string{promoted})[0]
	poll(t, "leases on the promoted node", func() bool {
		return records.Default.On(t, "x", master) == 1 && records.Default.On(t, "y", master) == 1
	})
	if !held.Valid() {
		t.Errorf("the lease was lost: %v", context.Cause(held.Context()))
	}
}

func TestReplica_IsRefusedUntilItIsPromoted(t *testing.T) {
	t.Parallel()
	group, others := startFailover(t), startServers(t, 2)
	replica := group.Replica().Addr()
	var reported complaints
	l := lockerOn(t, clients(t, append(others.Addrs(), replica)...),
		append(guardedOptions, reported.option())...)
	for range 3 {
		release(t, acquire(t, l, "x")) // the others are a majority
	}
	n := l.Nodes(t.Context())[2]
	if n.Role != "slave" || n.Err == nil || !strings.Contains(n.Err.Error(), "it is a replica") {
		t.Errorf("the replica is %+v, want it refused as such", n)
	}
	wantReported(t, &reported, "inspect: .* it is a replica")

	ctx, cancel := context.WithTimeout(t.Context(), promotion)
	defer cancel()
	must(t, group.Master().Kill())
	_, err := group.Promoted(ctx)
	must(t, err)
	poll(t, "promoted node that is fit", func() bool {
		n := l.Nodes(t.Context())[2]
		return n.Role == "master" && n.Err == nil && n.Guard > 0
	})
}

// promotion is how long a test waits for a promotion. Sentinels that were stalled pause for half a minute.
const promotion = 90 * time.Second

func startFailover(t *testing.T) *redisproc.Failover {
	t.Helper()
	group, err := redisproc.StartFailover(t.Context())
	must(t, err)
	closeAfter(t, group.Close)
	return group
}

func failoverClient(t *testing.T, group *redisproc.Failover) *redis.Client {
	t.Helper()
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: group.Name(), SentinelAddrs: group.Sentinels(),
	})
	closeAfter(t, client.Close)
	return client
}
