package nodetest_test

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

func TestClose_LeavesNothingBehindUnderAnyFault(t *testing.T) {
	faults := map[string]func(*nodetest.Cluster){
		"none": func(c *nodetest.Cluster) {},
		"cut":  func(c *nodetest.Cluster) { c.Cut() },
		"hang": func(c *nodetest.Cluster) { c.Hang() },
		"slow": func(c *nodetest.Cluster) { c.Delay(time.Hour) },
		"deaf": func(c *nodetest.Cluster) { c.DropReplies() },
		"dead": func(c *nodetest.Cluster) { c.Kill(0) },
	}
	for name, set := range faults {
		t.Run(name, func(t *testing.T) {
			// The bubble itself fails on a goroutine that is left, here go-redis's dialers too.
			synctest.Test(t, func(t *testing.T) {
				c := nodetest.Start(2)
				l := c.Links()
				ok(t, l.Clients()[0].Ping(t.Context()).Err())
				set(c)
				done := make(chan struct{})
				// No more calls than the pool has connections: go-redis keeps the timers of callers that
				// wait for one in a global pool, and the next bubble would find this bubble's there.
				calls := min(20, 10*runtime.GOMAXPROCS(0))
				for i := range calls {
					go func() {
						ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
						defer cancel()
						l.Clients()[i%2].Incr(ctx, "n") // may fail: what it leaves behind counts
						done <- struct{}{}
					}()
				}
				time.Sleep(60 * time.Millisecond)
				c.Close()
				for range calls {
					<-done
				}
				if err := l.Clients()[0].Ping(t.Context()).Err(); !errors.Is(err, redis.ErrClosed) {
					t.Errorf("call after Close: %v, want %v", err, redis.ErrClosed)
				}
				_, err := l.Options(0).Dialer(t.Context(), "tcp", "")
				if !errors.Is(err, syscall.ECONNREFUSED) {
					t.Errorf("dial after Close: %v, want refused", err)
				}
			})
		})
	}
}

func TestClose_WaitsForTheScriptUnderWay(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		c.SetPreHook(0, func(_ *server.Peer, cmd string, _ ...string) bool {
			if cmd == "EVAL" {
				time.Sleep(time.Second)
			}
			return false
		})
		var call sync.WaitGroup
		call.Go(func() {
			l.Clients()[0].Eval(context.Background(), `return redis.call('SET', 'k', 'v')`, nil)
		})
		synctest.Wait()
		took(t, time.Second, c.Close)
		call.Wait()
		has(t, c, 0, "k", "v")
	})
}

func TestRestartFrom_BringsBackOlderData(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		hash := map[string]string{"a": "1", "": "with\r\nbreaks", "empty": ""}
		ok(t, client.Set(t.Context(), "string", "old", 0).Err())
		ok(t, client.Set(t.Context(), "empty", "", 0).Err())
		ok(t, client.HSet(t.Context(), "hash", hash).Err())
		ok(t, client.PExpire(t.Context(), "hash", 20*time.Second).Err())
		ok(t, client.Set(t.Context(), "short", "v", 10*time.Second).Err())
		file := c.Snapshot(0)

		ok(t, client.Set(t.Context(), "string", "new", time.Minute).Err())
		ok(t, client.Del(t.Context(), "hash", "empty").Err())
		ok(t, client.Set(t.Context(), "later", "v", 0).Err())
		time.Sleep(12 * time.Second)
		c.RestartFrom(0, file)

		want := []string{"empty", "hash", "string"}
		if got := c.Node(0).Keys(); !slices.Equal(got, want) {
			t.Errorf("keys %q, want %q", got, want)
		}
		has(t, c, 0, "string", "old")
		has(t, c, 0, "empty", "")
		if got := client.HGetAll(t.Context(), "hash").Val(); !maps.Equal(got, hash) {
			t.Errorf("hash %q, want %q", got, hash)
		}
		if got := c.Node(0).TTL("hash"); got != 8*time.Second {
			t.Errorf("after 12s of 20s the TTL is %v, want 8s", got)
		}
		if got := c.Node(0).TTL("string"); got != 0 {
			t.Errorf("a key without an end got one in %v", got)
		}
		c.RestartFrom(1, file) // a snapshot can be used again, and elsewhere
		has(t, c, 1, "string", "old")
	})
}
