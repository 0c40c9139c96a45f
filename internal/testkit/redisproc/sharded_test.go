//go:build unix

package redisproc_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

func TestStartSharded_SharesKeysOutAmongThreeMasters(t *testing.T) {
	c := startSharded(t, "--maxmemory", "64mb")
	r := clusterClient(t, c)
	const keys = 300

	for i := range keys {
		if err := r.Set(t.Context(), strconv.Itoa(i), i, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range keys {
		if got, err := r.Get(t.Context(), strconv.Itoa(i)).Int(); got != i || err != nil {
			t.Fatalf("key %d is %d (%v)", i, got, err)
		}
	}

	if got := len(c.Addrs()); got != 3 {
		t.Fatalf("%d addresses, want 3", got)
	}
	for _, addr := range c.Addrs() {
		r := client(t, addr)
		if got := r.DBSize(t.Context()).Val(); got < keys/6 {
			t.Errorf("%d keys of %d on %s, want about a third", got, keys, addr)
		}
		for key, want := range map[string]string{
			"cluster-require-full-coverage": "no", "maxmemory": "67108864",
		} {
			if got := r.ConfigGet(t.Context(), key).Val()[key]; got != want {
				t.Errorf("node %s has %s %q, want %q", addr, key, got, want)
			}
		}
	}
}

func TestStartSharded_GoesOnWithoutANodeThatComesBackEmpty(t *testing.T) {
	c := startSharded(t, persisting...)
	r, n := clusterClient(t, c), c.Node(1)
	set(t, r, "v")
	wantValue(t, n, "v")

	if err := n.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"a", "b"} { // in the first and the last third of the slots
		if err := r.Set(t.Context(), other, "v", 0).Err(); err != nil {
			t.Errorf("SET %s: %v, want that the others go on", other, err)
		}
	}
	if err := n.RestartEmpty(t.Context()); err != nil {
		t.Fatal(err)
	}

	back, ticker := client(t, n.Addr()), time.NewTicker(short/10)
	defer ticker.Stop()
	late := time.After(long)
	for {
		err := back.Get(t.Context(), "k").Err()
		if errors.Is(err, redis.Nil) {
			return
		}
		if !redis.HasErrorPrefix(err, "CLUSTERDOWN") {
			t.Fatalf("GET after the restart: %v, want an empty node", err)
		}
		select {
		case <-ticker.C:
		case <-late:
			t.Fatalf("GET %v after the restart: %v, want an empty node", long, err)
		}
	}
}

func startSharded(t *testing.T, args ...string) *redisproc.Cluster {
	t.Helper()
	c, err := redisproc.StartSharded(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func clusterClient(t *testing.T, c *redisproc.Cluster) *redis.ClusterClient {
	t.Helper()
	r := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()})
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}
