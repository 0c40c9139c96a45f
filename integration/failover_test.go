//go:build unix

package integration_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/redlock"
)

const failoverTTL = 3 * time.Second

var failoverOptions = []redlock.Option{
	redlock.WithTTL(failoverTTL), redlock.WithNodeTimeout(failoverTTL / 5),
}

// A replica may lack the last locks of its master: the guard bridges that.
func TestFailover_PromotedNodeIsGuardedAndCostsNoLease(t *testing.T) {
	t.Parallel()
	group, others := startFailover(t), startServers(t, 2)
	link, err := others.Node(1).Proxy()
	if err != nil {
		t.Fatal(err)
	}
	nodes := append(clients(t, others.Addrs()...), failoverClient(t, group))
	l := lockerOn(t, nodes, failoverOptions...)
	held := acquire(t, l, "x", redlock.WithAutoExtend(redlock.Extension{}))
	for _, server := range admins(t, append(others.Addrs(), group.Master().Addr())) {
		poll(t, "lease on all nodes", func() bool { return locked(t, server, "x") })
	}
	status := func() redlock.NodeStatus { return l.Nodes(t.Context())[2] }
	if n := status(); n.Addr != "FailoverClient 3" || n.Role != "master" || n.Guard > 0 || n.Err != nil {
		t.Errorf("the group is %+v, want a master without a guard", n)
	}

	killed := time.Now()
	if err := group.Master().Kill(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), promotion)
	defer cancel()
	promoted, err := group.Promoted(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("promoted after %v", time.Since(killed))
	poll(t, "guard after the promotion", func() bool {
		n := status()
		return n.Err == nil && n.Guard > 0
	})

	// This one cannot do without the group.
	link.Refuse()
	rival := lockerOn(t, append(clients(t, others.Node(0).Addr(), link.Addr()),
		failoverClient(t, group)), failoverOptions...)
	_, err = rival.TryAcquire(t.Context(), "y")
	if !errors.Is(err, redlock.ErrGuarded) {
		t.Errorf("after the promotion: %v, want %v", err, redlock.ErrGuarded)
	}
	acquire(t, rival, "y")
	if after := time.Since(killed); after < failoverTTL {
		t.Errorf("the group granted %v after its master was killed, want %v at least", after, failoverTTL)
	}
	if n := status(); n.Guard > 0 || n.Err != nil {
		t.Errorf("when it grants, the group is %+v", n)
	}
	master := admins(t, []string{promoted})[0]
	poll(t, "leases on the promoted node", func() bool {
		return locked(t, master, "x") && locked(t, master, "y")
	})
	if !held.Valid() {
		t.Errorf("the lease was lost: %v", context.Cause(held.Context()))
	}
}

func TestReplica_IsRefusedUntilItIsPromoted(t *testing.T) {
	t.Parallel()
	group, others := startFailover(t), startServers(t, 2)
	replica := group.Replica().Addr()
	var told complaints
	l := lockerOn(t, clients(t, append(others.Addrs(), replica)...),
		append(failoverOptions, told.option())...)
	for range 3 {
		release(t, acquire(t, l, "x")) // the others are a majority
	}
	n := l.Nodes(t.Context())[2]
	if n.Role != "slave" || n.Err == nil || !strings.Contains(n.Err.Error(), "it is a replica") {
		t.Errorf("the replica is %+v, want it refused as such", n)
	}
	wantTold(t, &told, "inspect: .* it is a replica")

	ctx, cancel := context.WithTimeout(t.Context(), promotion)
	defer cancel()
	if err := group.Master().Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := group.Promoted(ctx); err != nil {
		t.Fatal(err)
	}
	poll(t, "promoted node that is fit", func() bool {
		n := l.Nodes(t.Context())[2]
		return n.Role == "master" && n.Err == nil && n.Guard > 0
	})
}

// promotion is how long a test waits for one. Sentinels that were stalled pause for half a minute.
const promotion = 90 * time.Second

func startFailover(t *testing.T) *redisproc.Failover {
	t.Helper()
	group, err := redisproc.StartFailover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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
