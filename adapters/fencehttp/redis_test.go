//go:build unix

package fencehttp_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/adapters/fencehttp"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

// newRedis returns a client of a real redis-server.
func newRedis(t *testing.T, args ...string) (*redis.Client, *redisproc.Node) {
	t.Helper()
	cluster, err := redisproc.Start(t.Context(), 1, args...)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{
		Addr: cluster.Node(0).Addr(), MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
	})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return client, cluster.Node(0)
}

func TestRedis_KeepsTheLargestToken(t *testing.T) {
	client, node := newRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	store := fencehttp.Redis(client)
	raise := func(resource string, token, want uint64) {
		t.Helper()
		if got, err := store.Raise(t.Context(), resource, token); err != nil || got != want {
			t.Errorf("%s with token %d: %d, want %d, %v", resource, token, got, want, err)
		}
	}
	const large = 1 << 53 // from here on, the numbers of Lua have gaps
	raise("ledger", 9, 9)
	raise("ledger", 10, 10) // longer, though its text is before "9"
	raise("ledger", 9, 10)
	raise("other", 9, 9)
	raise("ledger", large, large)
	raise("ledger", large+1, large+1)
	raise("ledger", large, large+1)
	raise("ledger", large+2, large+2)
	if ttl := client.TTL(t.Context(), "redlockfx:fence:ledger").Val(); ttl != -1 {
		t.Errorf("the token is kept for %v, want forever", ttl)
	}
	if err := node.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Raise(t.Context(), "ledger", 9); err == nil {
		t.Error("Redis is away, and no error")
	}
	if err := node.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	raise("ledger", 9, large+2)
}

func TestRedis_RefusesAKeyThatHoldsNoToken(t *testing.T) {
	client, _ := newRedis(t)
	for _, text := range []string{"nonsense-that-is-long", "12x45", ""} {
		client.Set(t.Context(), "redlockfx:fence:ledger", text, 0)
		largest, err := fencehttp.Redis(client).Raise(t.Context(), "ledger", 9)
		if text == "" { // shorter than any token: it is replaced
			if err != nil || largest != 9 {
				t.Errorf("an empty key: %d, %v", largest, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "redlockfx:fence:ledger") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestRedis_ByManyAtATime(t *testing.T) {
	client, _ := newRedis(t)
	store := fencehttp.Redis(client)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() { // waited for below
			last := uint64(0)
			for i := range 50 {
				token := uint64(i*8 + n + 1)
				largest, err := store.Raise(t.Context(), "ledger", token)
				if err != nil || largest < token || largest < last {
					t.Errorf("token %d: %d after %d, %v", token, largest, last, err)
				}
				last = largest
			}
		})
	}
	all.Wait()
	if largest, err := store.Raise(t.Context(), "ledger", 1); err != nil || largest != 400 {
		t.Errorf("the largest is %d, want 400, %v", largest, err)
	}
}

func TestRedis_IsBoundedByTheContext(t *testing.T) {
	client, node := newRedis(t)
	if err := node.Hang(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := fencehttp.Redis(client).Raise(ctx, "ledger", 9); err == nil || time.Since(start) > 2*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	if err := node.Wake(); err != nil {
		t.Fatal(err)
	}
}
