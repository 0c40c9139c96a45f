package redlock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// Of five nodes, one is down and one has lost its data. The other three are a majority that serves the list, so a process that starts
// then uses them.
func TestLists_AProcessStartsWhileTwoOfFiveAreLost(t *testing.T) {
	bubble.RunFresh(t, 5, func(t *testing.T, c *bubble.Cluster) {
		l, _ := usedBy(c, 0, 1, 2, 3, 4)
		c.Kill(4)
		c.Kill(3)
		c.Wipe(3)
		c.Restart(3)
		time.Sleep(3 * ttl)
		acquireAndRelease(t, l, "y")
		other, _ := c.Locker()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := other.Acquire(ctx, "y")
		want.NoError(t, err)
	})
}

// Two processes spell the addresses differently, and start at the same time, on new nodes and when the list grows.
func TestLists_TwoSpellings(t *testing.T) {
	for name, before := range map[string][]int{"new nodes": nil, "from one": {0}, "from three": {0, 1, 2}} {
		t.Run(name, func(t *testing.T) {
			bubble.RunFresh(t, 5, func(t *testing.T, c *bubble.Cluster) {
				if before != nil {
					old, lease := usedBy(c, before...)
					want.NoError(t, lease.Release(t.Context()), old.Close(t.Context()))
				}
				spelled := func(as string) *redlock.Locker {
					links := c.Links()
					var clients []redis.UniversalClient
					for i := range 5 {
						o := links.Options(i)
						o.Addr = fmt.Sprintf("%s-%d:6379", as, i)
						client := redis.NewClient(o)
						t.Cleanup(func() { _ = client.Close() })
						clients = append(clients, client)
					}
					l, err := redlock.New(clients, redlock.WithTTL(ttl))
					want.NoError(t, err)
					t.Cleanup(func() { _ = l.Close(context.Background()) })
					return l
				}
				a, b := spelled("a"), spelled("b")
				results := make(chan error, 2)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				for _, l := range []*redlock.Locker{a, b} {
					go func() {
						lease, err := l.Acquire(ctx, "x")
						if err == nil {
							_ = lease.Release(context.Background())
						}
						results <- err
					}()
				}
				want.NoError(t, <-results, <-results)
			})
		})
	}
}

// A node hangs at the first start.
func TestLists_ANodeHangsAtTheFirstStart(t *testing.T) {
	bubble.RunFresh(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, links := c.Locker()
		links.Hang(2)
		for range 5 {
			began := time.Now()
			_, err := l.TryAcquire(t.Context(), "x")
			took := time.Since(began)
			want.Err(t, err, redlock.ErrNoQuorum)
			if most := 2 * l.Settings().NodeTimeout; took > most {
				t.Errorf("it took %v, want %v at most", took, most)
			}
		}
	})
}

// While pods wait for a list, they send few requests.
func TestLists_WaitingCallersSendLittle(t *testing.T) {
	bubble.RunFresh(t, 4, func(t *testing.T, c *bubble.Cluster) {
		usedBy(c, 0, 1, 2)
		other, _ := c.LockerOf([]int{0, 1, 3})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		for i := range 100 {
			go func() {
				_, _ = other.Acquire(ctx, fmt.Sprint("y", i))
				done <- struct{}{}
			}()
		}
		time.Sleep(time.Minute)
		before := c.Asked()
		time.Sleep(time.Minute)
		if n := c.Asked() - before; n > 60*4*2 {
			t.Errorf("%d requests a minute", n)
		}
		cancel()
		for range 100 {
			<-done
		}
	})
}
