package nodetest_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

func TestKill_KeepsDataAndForgetsScripts(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		ok(t, client.Set(t.Context(), "k", "v", 0).Err())
		sha, err := client.ScriptLoad(t.Context(), "return 1").Result()
		ok(t, err)
		c.Kill(0)
		c.Heal()
		if err := client.Ping(t.Context()).Err(); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("call to a dead node: %v, want refused", err)
		}
		c.Restart(0)
		if got := client.Get(t.Context(), "k").Val(); got != "v" {
			t.Errorf("restarted node has k=%q, want v", got)
		}
		if err := client.EvalSha(t.Context(), sha, nil).Err(); !errors.Is(err, redis.ErrNoScript) {
			t.Errorf("script after a restart: %v, want %v", err, redis.ErrNoScript)
		}
	})
}

func TestWipe_ForgetsDataOfOneNode(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		for _, client := range l.Clients() {
			ok(t, client.Set(t.Context(), "k", "v", 0).Err())
		}
		c.Wipe(0)
		if err := l.Clients()[0].Get(t.Context(), "k").Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("get from the wiped node: %v, want redis.Nil", err)
		}
		has(t, c, 1, "k", "v")
	})
}

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
