//go:build unix

package integration_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// One of three nodes is dead, so that nothing works without the cluster.
func TestSharded_ClusterServesAsOneNode(t *testing.T) {
	t.Parallel()
	shards, others := startSharded(t), startServers(t, 2)
	cluster := clusterClient(t, shards)
	l := lockerOn(t, append(clients(t, others.Addrs()...), cluster), guardedOptions...)
	release(t, acquire(t, l, "x")) // at first, all nodes must be heard
	must(t, others.Node(1).Kill())

	lease := acquire(t, l, "x", redlock.WithValue("me"))
	first := lease.Deadline()
	if err := lease.Extend(t.Context()); err != nil || !lease.Deadline().After(first) {
		t.Errorf("extend: %v, deadline %v after %v", err, lease.Deadline(), first)
	}
	holder, err := l.Holder(t.Context(), "x")
	if err != nil || holder.Value != "me" || holder.Token != lease.Token() {
		t.Errorf("holder: %+v, %v, want me with token %d", holder, err, lease.Token())
	}
	_, err = l.TryAcquire(t.Context(), "x")
	want.Err(t, err, redlock.ErrHeld)
	n := l.Nodes(t.Context())[2]
	if n.Addr != strings.Join(shards.Addrs(), ",") || n.Role != "master" || n.Guard > 0 || n.Err != nil {
		t.Errorf("the cluster is %+v, want a master that grants", n)
	}
	release(t, lease)
	_, err = l.Holder(t.Context(), "x")
	want.Err(t, err, redlock.ErrVacant)
}

// The keys of all names are in one slot.
func TestSharded_ExtendsTogetherAndTellsOfReleases(t *testing.T) {
	t.Parallel()
	shards := startSharded(t)
	cluster := clusterClient(t, shards)
	l := lockerOn(t, []redis.UniversalClient{cluster}, guardedOptions...)
	const names = 50
	var leases []*redlock.Lease
	var ends []time.Time
	for i := range names {
		lease := acquire(t, l, strconv.Itoa(i), redlock.WithAutoExtend(redlock.Extension{}))
		leases, ends = append(leases, lease), append(ends, lease.Deadline())
	}
	server := admins(t, []string{owner(t, cluster, shards).Addr()})[0]
	before := calls(t, server, "evalsha")
	for i, lease := range leases {
		poll(t, "extension", func() bool { return lease.Deadline().After(ends[i]) })
		if records.Default.On(t, lease.Name(), server) == 0 {
			t.Errorf("lock %s is not on the shard of the others", lease.Name())
		}
	}
	if got := calls(t, server, "evalsha") - before; got > names/2 {
		t.Errorf("%d leases were extended in %d calls, want few", names, got)
	}

	lease := leases[0]
	won := make(chan error)
	var at time.Time
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	go func() { // ends with ctx, and is received below
		_, err := l.Acquire(ctx, lease.Name())
		at = time.Now()
		won <- err
	}()
	servers := admins(t, shards.Addrs())
	poll(t, "waiter at a shard", func() bool {
		return slices.ContainsFunc(servers, func(server *redis.Client) bool {
			listed, _ := records.Default.WaitingOn(t.Context(), lease.Name(), server)
			return len(listed) == 1
		})
	})
	must(t, lease.Extend(t.Context())) // so that there is a whole TTL to wait
	released := time.Now()
	release(t, lease)
	if err := <-won; err != nil || at.Sub(released) > shortTTL/2 {
		t.Errorf("the waiter had it %v after the release, %v", at.Sub(released), err)
	}
	t.Logf("the waiter had it %v after the release", at.Sub(released))
}

// startSharded starts a Redis Cluster: three masters without replicas, each with an equal share of the slots.
func startSharded(t *testing.T) *redisproc.Cluster {
	t.Helper()
	const many, slots = 3, 16384
	nodes := startServers(t, many, "--cluster-enabled", "yes", "--cluster-require-full-coverage", "no")
	servers := admins(t, nodes.Addrs())
	for i, server := range servers {
		host, port, err := net.SplitHostPort(nodes.Node((i + 1) % many).Addr())
		must(t, err, server.ClusterAddSlotsRange(t.Context(), i*slots/many, (i+1)*slots/many-1).Err(),
			server.ClusterMeet(t.Context(), host, port).Err())
	}
	for _, server := range servers {
		poll(t, "shard that knows all others", func() bool {
			info := server.ClusterInfo(t.Context()).Val()
			// The state is ok before any slot is known, because a part of the slots is enough.
			return strings.Contains(info, "cluster_state:ok\r\n") && strings.Contains(info, fmt.Sprintf("cluster_slots_ok:%d\r\n", slots)) &&
				strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d\r\n", many))
		})
	}
	return nodes
}

func clusterClient(t *testing.T, shards *redisproc.Cluster) *redis.ClusterClient {
	t.Helper()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: shards.Addrs()})
	closeAfter(t, client.Close)
	return client
}

// owner is the shard that has all keys of the prefix.
func owner(t *testing.T, cluster *redis.ClusterClient, shards *redisproc.Cluster) *redisproc.Node {
	t.Helper()
	server, err := cluster.MasterForKey(t.Context(), records.Default.Hash())
	must(t, err)
	i := slices.Index(shards.Addrs(), server.Options().Addr)
	if i < 0 {
		t.Fatalf("%s is none of the shards %v", server.Options().Addr, shards.Addrs())
	}
	return shards.Node(i)
}
