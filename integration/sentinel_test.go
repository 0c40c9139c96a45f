//go:build unix

package integration_test

import (
	"context"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/redlock"
)

// group is the name of the master that the sentinel watches.
const group = "group"

// startGroup starts a master, its replica, and a sentinel that considers the master down after some time.
func startGroup(t *testing.T, downAfter time.Duration) (master *redisproc.Node, sentinel *redis.SentinelClient, addr string) {
	t.Helper()
	servers, sentinels := startServers(t, 2), startServers(t, 1, "--sentinel")
	master = servers.Node(0)
	host, port, err := net.SplitHostPort(master.Addr())
	must(t, err)
	must(t, admins(t, servers.Addrs())[1].ReplicaOf(t.Context(), host, port).Err())
	sentinel = redis.NewSentinelClient(&redis.Options{Addr: sentinels.Addrs()[0]})
	closeAfter(t, sentinel.Close)
	must(t, sentinel.Monitor(t.Context(), group, host, port, "1").Err(),
		sentinel.Set(t.Context(), group, "down-after-milliseconds", strconv.FormatInt(downAfter.Milliseconds(), 10)).Err())
	poll(t, "replica that the sentinel knows", func() bool {
		replicas, err := sentinel.Replicas(t.Context(), group).Result()
		return err == nil && len(replicas) == 1 && replicas[0]["master-link-status"] == "ok"
	})
	return master, sentinel, sentinels.Addrs()[0]
}

// The master of a Sentinel client hangs while others hold all connections of its pool. The node is blamed, and no other. When
// another server was promoted, or the master goes on, the node works again.
func TestSentinel_AHungMasterBehindAFullPool(t *testing.T) {
	t.Parallel()
	tests := beside{t: t}
	defer tests.Wait()
	for name, fails := range map[string]bool{"a replica is promoted": true, "the master goes on": false} {
		tests.run(name, func(t *testing.T) {
			downAfter := waitLimit
			if fails {
				downAfter = 2 * longTimeout
			}
			master, sentinel, addr := startGroup(t, downAfter)
			client := redis.NewFailoverClient(&redis.FailoverOptions{
				MasterName: group, SentinelAddrs: []string{addr}, PoolSize: 4, PoolTimeout: waitLimit,
			})
			closeAfter(t, client.Close)
			l := lockerOn(t, append([]redis.UniversalClient{client}, clients(t, startServers(t, 2).Addrs()...)...),
				redlock.WithNodeTimeout(longTimeout), redlock.WithTTL(5*longTimeout))
			release(t, acquire(t, l, "x"))
			var events nodeEvents
			l.OnNode(events.add) // until the Locker is closed
			leave := occupy(t, client)

			must(t, master.Hang())
			poll(t, "report of the hung master", func() bool {
				release(t, acquire(t, l, "x")) // on the other nodes
				return slices.Contains(events.of(redlock.NodeFails), l.Nodes(t.Context())[0].Addr)
			})
			if !fails {
				must(t, master.Wake())
			}
			poll(t, "node that works again", func() bool {
				release(t, acquire(t, l, "x"))
				return len(events.of(redlock.NodeWorks)) > 0
			})
			leave()
			poll(t, "node that grants again", func() bool {
				release(t, acquire(t, l, "x"))
				return allGrant(t.Context(), l)
			})
			if fails {
				must(t, master.Wake()) // it becomes a replica
				release(t, acquire(t, l, "x"))
				if now := sentinel.GetMasterAddrByName(t.Context(), group).Val(); net.JoinHostPort(now[0], now[1]) == master.Addr() {
					t.Error("no other server was promoted")
				}
			}
			for _, addr := range events.of(redlock.NodeFails) {
				if addr != l.Nodes(t.Context())[0].Addr {
					t.Errorf("%s is blamed, which works", addr)
				}
			}
		})
	}
}

// occupy has more users of a client's pool than it has connections, until they are told to leave.
func occupy(t *testing.T, client *redis.Client) (leave func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var users sync.WaitGroup
	for range 8 {
		users.Go(func() { // ends with ctx
			for ctx.Err() == nil {
				_ = client.BLPop(ctx, time.Second, "{redlock}:none").Err()
			}
		})
	}
	leave = func() { stop(); users.Wait() }
	t.Cleanup(leave)
	poll(t, "full pool", func() bool {
		pool := client.PoolStats()
		return pool.TotalConns == 4 && pool.IdleConns == 0
	})
	return leave
}

// nodeEvents records events.
type nodeEvents struct {
	mu  sync.Mutex // guards the field below
	all []redlock.NodeEvent
}

func (n *nodeEvents) add(e redlock.NodeEvent) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, e)
}

// of returns the addresses of the nodes with events of a kind.
func (n *nodeEvents) of(kind redlock.NodeEventKind) (addrs []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.all {
		if e.Kind == kind {
			addrs = append(addrs, e.Addr)
		}
	}
	return addrs
}
