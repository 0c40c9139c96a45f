package fencehttp_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/adapters/fencehttp"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

// onRedis runs a test on an in-memory Redis in virtual time. Redis itself decides whether it keeps what it acknowledged.
func onRedis(t *testing.T, test func(t *testing.T, store fencehttp.Store, server *nodetest.Cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := nodetest.Start(1)
		t.Cleanup(server.Close)
		options := server.Links().Options(0)
		options.ContextTimeoutEnabled = true
		client := redis.NewClient(options)
		t.Cleanup(func() {
			if err := client.Close(); err != nil {
				t.Error(err)
			}
		})
		test(t, fencehttp.Redis(client), server)
	})
}

func TestRedis_KeepsTheLargestToken(t *testing.T) {
	onRedis(t, func(t *testing.T, store fencehttp.Store, server *nodetest.Cluster) {
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
		if ttl := server.Node(0).TTL("redlockfx:fence:ledger"); ttl != 0 {
			t.Errorf("the token is kept for %v, want forever", ttl)
		}
		server.Kill(0)
		if _, err := store.Raise(t.Context(), "ledger", 9); err == nil {
			t.Error("Redis is down, and no error")
		}
		server.Restart(0)
		time.Sleep(time.Minute) // until the client dials again
		raise("ledger", 9, large+2)
	})
}

func TestRedis_RefusesAKeyThatHoldsNoToken(t *testing.T) {
	onRedis(t, func(t *testing.T, store fencehttp.Store, server *nodetest.Cluster) {
		for _, text := range []string{"nonsense-that-is-long", "12x45", ""} {
			if err := server.Node(0).Set("redlockfx:fence:ledger", text); err != nil {
				t.Fatal(err)
			}
			largest, err := store.Raise(t.Context(), "ledger", 9)
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
	})
}

func TestRedis_ByManyAtATime(t *testing.T) {
	onRedis(t, func(t *testing.T, store fencehttp.Store, _ *nodetest.Cluster) {
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
	})
}

func TestRedis_IsBoundedByTheContext(t *testing.T) {
	onRedis(t, func(t *testing.T, store fencehttp.Store, server *nodetest.Cluster) {
		server.Hang(0)
		const limit = 50 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		start := time.Now()
		if _, err := store.Raise(ctx, "ledger", 9); err == nil || time.Since(start) != limit {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}
