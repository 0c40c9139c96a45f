//go:build unix

package integration_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/redlock"
)

// The hash, with its guard, moves to a shard with another identity. The held lock continues, and nothing is granted
// until the longest TTL has passed, because the move may have lost something.
func TestMigration_OfTheSlotBeginsAGuardAndCostsNoLease(t *testing.T) {
	t.Parallel()
	for name, migrate := range migrations(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shards := startSharded(t)
			cluster := clusterClient(t, shards)
			l := lockerOn(t, []redis.UniversalClient{cluster}, guardedOptions...)
			held := acquire(t, l, "x", redlock.WithAutoExtend(redlock.Extension{}))
			must(t, held.Extend(t.Context()))
			rival := lockerOn(t, []redis.UniversalClient{clusterClient(t, shards)}, guardedOptions...)

			seeking, stop := context.WithCancel(t.Context())
			defer stop()
			var asking sync.WaitGroup
			asking.Go(func() { // ends with seeking
				for seeking.Err() == nil {
					if _, err := rival.TryAcquire(seeking, "x"); err == nil {
						t.Error("the lock was granted to somebody else while it was held")
						return
					}
				}
			})
			from, to := owner(t, cluster, shards), shards.Node(0)
			if from == to {
				to = shards.Node(1)
			}
			migrate(t, from, to)
			moved := time.Now()
			server := admins(t, []string{to.Addr()})[0]
			poll(t, "guard of the shard that has the slot now", func() bool {
				_, err := rival.TryAcquire(t.Context(), "y")
				if err == nil {
					t.Fatal("the shard granted at once")
				}
				return errors.Is(err, redlock.ErrGuarded)
			})
			acquire(t, rival, "z")
			if after := time.Since(moved); after < shortTTL {
				t.Errorf("the shard granted %v after it had got the slot, want %v at least", after, shortTTL)
			}
			stop()
			asking.Wait()
			if !held.Valid() || records.Default.On(t, "x", server) != 1 {
				t.Errorf("the lease was lost: %v", context.Cause(held.Context()))
			}
			release(t, held)
		})
	}
}

// migrations are the ways in which this server can move a slot to another shard: key by key, and, since Valkey 9, as a whole.
func migrations(t *testing.T) map[string]func(t *testing.T, from, to *redisproc.Node) {
	t.Helper()
	all := map[string]func(t *testing.T, from, to *redisproc.Node){"key by key": migrateKeys}
	known, err := admins(t, startServers(t, 1).Addrs())[0].Do(t.Context(), "COMMAND", "INFO", "CLUSTER|MIGRATESLOTS").Slice()
	must(t, err)
	if len(known) == 1 && known[0] != nil {
		all["as a whole"] = migrateWhole
	}
	return all
}

func migrateKeys(t *testing.T, from, to *redisproc.Node) {
	t.Helper()
	servers := admins(t, []string{from.Addr(), to.Addr()})
	source, target := servers[0], servers[1]
	slot, err := source.ClusterKeySlot(t.Context(), records.Default.Hash()).Result()
	must(t, err)
	there, here := nodeID(t, target), nodeID(t, source)
	host, port, err := net.SplitHostPort(to.Addr())
	must(t, err,
		target.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "IMPORTING", here).Err(),
		source.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "MIGRATING", there).Err())
	keys, err := source.ClusterGetKeysInSlot(t.Context(), int(slot), 100).Result()
	must(t, err)
	for _, key := range keys {
		must(t, source.Migrate(t.Context(), host, port, key, 0, time.Second).Err())
	}
	must(t, target.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "NODE", there).Err(),
		source.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "NODE", there).Err())
}

func migrateWhole(t *testing.T, from, to *redisproc.Node) {
	t.Helper()
	servers := admins(t, []string{from.Addr(), to.Addr()})
	source, target := servers[0], servers[1]
	slot, err := source.ClusterKeySlot(t.Context(), records.Default.Hash()).Result()
	must(t, err, source.Do(t.Context(), "CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", nodeID(t, target)).Err())
	poll(t, "slot on the other shard", func() bool {
		_, err := target.Get(t.Context(), records.Default.Hash()+"none").Result()
		return errors.Is(err, redis.Nil)
	})
}

func nodeID(t *testing.T, server *redis.Client) string {
	t.Helper()
	id, err := server.Do(t.Context(), "CLUSTER", "MYID").Text()
	must(t, err)
	return strings.TrimSpace(id)
}
