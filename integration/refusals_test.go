//go:build unix

package integration_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/refusal"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// Each refusal of a server is provoked, by a command and by a script, to see its exact words.
func TestRefusals_AreRecognizedWhateverTheWordsOfTheServer(t *testing.T) {
	t.Parallel()
	for name, provoke := range map[string]func(*testing.T){
		"password": refusedPassword, "rights": refusedRights, "commands": refusedCommands, "memory": refusedMemory,
		"replicas": refusedByReplica, "busy": refusedWhileBusy, "loading": refusedWhileLoading, "cluster": refusedByShard,
		"database": refusedDatabase,
	} {
		t.Run(name, provoke)
	}
}

const (
	setting = "return redis.call('SET', KEYS[1], '1')"
	getting = "return redis.call('GET', KEYS[1])"
)

// wantRefused checks that a command fails with this code.
func wantRefused(t *testing.T, server *redis.Client, code string, args ...any) {
	t.Helper()
	err := server.Do(t.Context(), args...).Err()
	if got := refusal.Code(err); got != code {
		t.Errorf("%v: %q is %q, want %s", args, err, got, code)
	}
}

// plainly makes a client without retries.
func plainly(t *testing.T, addr, user, password string) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, Username: user, Password: password, MaxRetries: -1, Protocol: 2})
	closeAfter(t, client.Close)
	return client
}

func refusedPassword(t *testing.T) {
	node := startServers(t, 1).Node(0)
	admin := plainly(t, node.Addr(), "", "")
	wantRefused(t, plainly(t, node.Addr(), "nobody", "pw"), refusal.WrongPass, "GET", "k")
	must(t, admin.ConfigSet(t.Context(), "requirepass", "pw").Err())
	unknown := plainly(t, node.Addr(), "", "")
	wantRefused(t, unknown, refusal.NoAuth, "GET", "k")
	wantRefused(t, unknown, refusal.NoAuth, "EVAL", getting, 1, "k")
}

func refusedRights(t *testing.T) {
	node := startServers(t, 1).Node(0)
	setUser(t, plainly(t, node.Addr(), "", ""), "a", []string{"~k", "+eval", "+get"})
	user := plainly(t, node.Addr(), "a", "pw")
	wantRefused(t, user, refusal.NoPerm, "SET", "k", "1")
	wantRefused(t, user, refusal.NoPerm, "GET", "other")
	wantRefused(t, user, refusal.NoPerm, "EVAL", setting, 1, "k")
	wantRefused(t, user, refusal.NoPerm, "EVAL", "return redis.call('GET', 'other')", 1, "k")
}

func refusedCommands(t *testing.T) {
	server := plainly(t, startServers(t, 1).Node(0).Addr(), "", "")
	wantRefused(t, server, refusal.UnknownCommand, "FOO", "NOPERM")
	wantRefused(t, server, refusal.UnknownCommand, "EVAL", "return redis.call('FOO')", 0)
	wantRefused(t, server, refusal.NoScript, "EVALSHA", strings.Repeat("a", 40), 0)
}

// A waiting Acquire ends, as with any other mistake in the URL.
func refusedDatabase(t *testing.T) {
	addr := startServers(t, 1).Node(0).Addr()
	wantRefused(t, plainly(t, addr, "", ""), refusal.NoDatabase, "SELECT", 99)
	options, err := redlock.ClientOptions("redis://" + addr + "/99")
	must(t, err)
	client := redis.NewClient(options)
	closeAfter(t, client.Close)
	l := lockerOn(t, []redis.UniversalClient{client}, redlock.WithTTL(10*longTimeout), redlock.WithNodeTimeout(longTimeout))
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	_, err = l.Acquire(ctx, "x")
	must(t, ctx.Err())
	want.Text(t, err, "DB index is out of range")
}

func refusedMemory(t *testing.T) {
	server := plainly(t, startServers(t, 1, "--maxmemory", "1").Node(0).Addr(), "", "")
	wantRefused(t, server, refusal.OutOfMemory, "SET", "k", "1")
	wantRefused(t, server, refusal.OutOfMemory, "EVAL", setting, 1, "k")
}

func refusedByReplica(t *testing.T) {
	nodes := startServers(t, 2)
	servers := []*redis.Client{plainly(t, nodes.Node(0).Addr(), "", ""), plainly(t, nodes.Node(1).Addr(), "", "")}
	must(t, servers[0].ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	wantRefused(t, servers[0], refusal.NoReplicas, "SET", "k", "1")

	must(t, servers[1].ReplicaOf(t.Context(), "127.0.0.1", "1").Err()) // where there is no master
	wantRefused(t, servers[1], refusal.ReadOnly, "SET", "k", "1")
	wantRefused(t, servers[1], refusal.ReadOnly, "EVAL", setting, 1, "k")
	must(t, servers[1].ConfigSet(t.Context(), "replica-serve-stale-data", "no").Err())
	wantRefused(t, servers[1], refusal.MasterDown, "GET", "k")
	wantRefused(t, servers[1], refusal.MasterDown, "EVAL", getting, 1, "k")
}

func refusedWhileBusy(t *testing.T) {
	addr := startServers(t, 1).Node(0).Addr()
	server, other := plainly(t, addr, "", ""), plainly(t, addr, "", "")
	must(t, server.ConfigSet(t.Context(), "lua-time-limit", "1").Err())
	ended := make(chan error, 1)
	go func() { // ends by SCRIPT KILL, and is received below
		ended <- other.Eval(context.Background(), "while true do end", nil).Err()
	}()
	poll(t, "refusal of a busy server", func() bool {
		return refusal.Code(server.Get(t.Context(), "k").Err()) == refusal.Busy
	})
	wantRefused(t, server, refusal.Busy, "EVAL", getting, 1, "k")
	must(t, server.ScriptKill(t.Context()).Err())
	if err := <-ended; err == nil {
		t.Error("the script ended by itself")
	}
}

// A replica that loads the data of its master refuses like a server that loads its file.
func refusedWhileLoading(t *testing.T) {
	nodes := startServers(t, 2)
	master, replica := plainly(t, nodes.Node(0).Addr(), "", ""), plainly(t, nodes.Node(1).Addr(), "", "")
	fill := "for i = 1, 10000 do redis.call('SET', 'k' .. i, string.rep('x', 1000)) end return 1"
	must(t,
		master.Eval(t.Context(), fill, nil).Err(),
		master.ConfigSet(t.Context(), "repl-diskless-sync-delay", "0").Err(),
		master.ConfigSet(t.Context(), "rdbcompression", "no").Err(),
		replica.ConfigSet(t.Context(), "key-load-delay", "200").Err()) // µs; it answers after every 2 MiB
	host, port, err := net.SplitHostPort(nodes.Node(0).Addr())
	must(t, err, replica.ReplicaOf(t.Context(), host, port).Err())
	poll(t, "refusal of a server that loads", func() bool {
		return refusal.Code(replica.Get(t.Context(), "k1").Err()) == refusal.Loading
	})
	wantRefused(t, replica, refusal.Loading, "EVAL", getting, 1, "k1") // it is still loading: Redis 6 accepts no CONFIG SET meanwhile
}

func refusedByShard(t *testing.T) {
	shards := startSharded(t)
	cluster := clusterClient(t, shards)
	home := owner(t, cluster, shards)
	var other *redisproc.Node
	for i := range shards.Addrs() {
		if shards.Node(i) != home {
			other = shards.Node(i)
		}
	}
	own, elsewhere := plainly(t, home.Addr(), "", ""), plainly(t, other.Addr(), "", "")
	const key = "{redlock}"
	wantRefused(t, elsewhere, refusal.NoDatabase, "SELECT", 1)
	wantRefused(t, elsewhere, refusal.Moved, "GET", key)
	wantRefused(t, elsewhere, refusal.Moved, "EVAL", getting, 1, key)

	slot, err := own.ClusterKeySlot(t.Context(), key).Result()
	must(t, err)
	id, err := elsewhere.Do(t.Context(), "CLUSTER", "MYID").Text()
	must(t, err, own.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "MIGRATING", id).Err())
	wantRefused(t, own, refusal.Ask, "GET", key)
	wantRefused(t, own, refusal.Ask, "EVAL", getting, 1, key)
	must(t, own.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "STABLE").Err(),
		own.ClusterDelSlots(t.Context(), int(slot)).Err())
	wantRefused(t, own, refusal.ClusterDown, "GET", key)
	wantRefused(t, own, refusal.ClusterDown, "EVAL", getting, 1, key)
}
