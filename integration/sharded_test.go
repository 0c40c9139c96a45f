//go:build unix

package integration_test

import (
	"context"
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

func startSharded(t *testing.T) *redisproc.Cluster {
	t.Helper()
	shards, err := redisproc.StartSharded(t.Context())
	must(t, err)
	closeAfter(t, shards.Close)
	return shards
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
