//go:build unix

package integration_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// A policy that evicts only keys with a TTL spares the locks, because their key has none. One that evicts any key takes
// the guard along with the locks, because they are one key. So the node grants nothing until all of those locks have ended.
func TestEviction_OfAnyKeyBeginsAGuard(t *testing.T) {
	t.Parallel()
	const policy = "allkeys-lru"
	nodes := startNodes(t, 1)
	server := admins(t, nodes.Addrs())[0]
	options := []redlock.Option{redlock.WithTTL(ttl), redlock.WithNodeTimeout(longTimeout)}
	held := acquire(t, lockerOn(t, clients(t, nodes.Addrs()...), options...), "x")
	limit := number(t, server, "memory", "used_memory") + 1<<20
	must(t, server.ConfigSet(t.Context(), "maxmemory-policy", "volatile-lru").Err(),
		server.ConfigSet(t.Context(), "maxmemory", fmt.Sprint(limit)).Err())
	// The keys are large, so that there are few of them, and the hash is likely to be evicted if it may be.
	n := 0
	fill := func(ttl time.Duration) {
		n++
		must(t, server.Set(t.Context(), fmt.Sprint("other key ", n), strings.Repeat("x", 100<<10), ttl).Err())
	}
	for number(t, server, "stats", "evicted_keys") < 100 {
		fill(time.Hour)
	}
	must(t, held.Extend(t.Context()))

	must(t, server.ConfigSet(t.Context(), "maxmemory-policy", policy).Err())
	poll(t, "eviction of the hash", func() bool {
		fill(0)
		return !records.Default.Exists(t, server)
	})
	must(t, server.ConfigSet(t.Context(), "maxmemory", "1gb").Err())

	var reported complaints
	rival := reported.of(lockerOn(t, clients(t, nodes.Addrs()...), options...))
	evicted := time.Now()
	_, err := rival.TryAcquire(t.Context(), "x")
	want.Err(t, err, redlock.ErrGuarded)
	if n := rival.Nodes(t.Context())[0]; n.Err != nil || n.Eviction != policy {
		t.Errorf("the node is %+v, want one that may evict", n)
	}
	wantReported(t, &reported, "inspect: maxmemory-policy is "+policy+": .* it then grants nothing for "+ttl.String())
	next := acquire(t, rival, "x")
	if took := time.Since(evicted); took < ttl || held.Valid() || next.Token() <= held.Token() {
		t.Errorf("granted after %v, while the first holder is valid, %v, with token %d after %d",
			took, held.Valid(), next.Token(), held.Token())
	}
}

// number returns a number from a section of INFO.
func number(t *testing.T, server *redis.Client, section, field string) int {
	t.Helper()
	info, err := server.Info(t.Context(), section).Result()
	must(t, err)
	_, after, _ := strings.Cut(info, field+":")
	text, _, _ := strings.Cut(after, "\r\n")
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}
