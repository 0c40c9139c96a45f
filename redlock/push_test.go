package redlock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/redlock"
)

// The message may be lost, or the permission to publish or subscribe may be missing. Then the holder's TTL wakes the
// next waiter, and an event reports the missing permission.
func TestAcquire_WithoutPushWaitsForTheTTL(t *testing.T) {
	for _, command := range []string{"PUBLISH", "SUBSCRIBE"} {
		t.Run(command, func(t *testing.T) {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				for i := range 3 {
					c.Deny(i, command)
				}
				l, _ := c.Locker()
				waiter, _ := c.Locker()
				problems := [2]func() []redlock.NodeEvent{
					reportsOf(l, redlock.NodeProblem), reportsOf(waiter, redlock.NodeProblem),
				}
				lease := mustAcquire(t, l, "x")
				synctest.Wait() // the slowest node has granted, too: otherwise the waiter may be first there
				time.AfterFunc(ttl/2, func() {
					if err := lease.Release(context.WithoutCancel(t.Context())); err != nil {
						t.Error(err)
					}
				})
				before := c.Asked()
				var err error
				d := bubble.Took(func() { _, err = waiter.Acquire(t.Context(), "x") })
				if err != nil || d > ttl+30*time.Millisecond {
					t.Errorf("after %v: %v", d, err)
				}
				// The line is on two nodes, which publish, and the waiter subscribes to all of them.
				publish, subscribe := problems[0](), problems[1]()
				if n := len(publish); n != map[string]int{"PUBLISH": 2, "SUBSCRIBE": 0}[command] {
					t.Errorf("the holder reported %+v, want each node once", publish)
				}
				if n := len(subscribe); n != map[string]int{"PUBLISH": 0, "SUBSCRIBE": 3}[command] {
					t.Errorf("the waiter reported %+v, want each node once", subscribe)
				}
				if asked := c.Asked() - before; asked > 60 {
					t.Errorf("%d requests", asked)
				}
			})
		})
	}
}

// A caller starts to wait during a release: some nodes have published it before, and some were asked before it reached
// them. The goroutines decide the order, so -count=100 shows more.
func TestAcquire_ReleaseBesideTheBeginOfAWait(t *testing.T) {
	t.Parallel()
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		holder, _ := c.Locker()
		waiter, _ := c.Locker()
		warmUp(t, waiter)
		for i := range 20 {
			lease := mustAcquire(t, holder, "x")
			time.Sleep(time.Second)
			var releasing sync.WaitGroup
			releasing.Go(func() { _ = lease.Release(t.Context()) })
			if d := takeTurns(t, waiter, 1, 0); d > time.Second {
				t.Fatalf("turn %d: after %v", i, d)
			}
			releasing.Wait()
			time.Sleep(time.Second)
		}
	})
}

// A subscription takes more round trips than an attempt, so on slow links the release may fall between the last attempt
// and the start of the subscription.
func TestAcquire_ReleaseBeforeASlowSubscription(t *testing.T) {
	t.Parallel()
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		holder, _ := c.Locker()
		for at := 300 * time.Millisecond; at < 600*time.Millisecond; at += 30 * time.Millisecond {
			waiter, process := c.Locker()
			warmUp(t, waiter)
			lease := mustAcquire(t, holder, "x")
			process.Delay(70 * time.Millisecond)
			time.AfterFunc(at, func() { _ = lease.Release(context.WithoutCancel(t.Context())) })
			if d := takeTurns(t, waiter, 1, 0); d > at+time.Second {
				t.Fatalf("released after %v, acquired after %v", at, d)
			}
		}
	})
}

// Nodes that grant without counting make every attempt fail, and each failure is published to the other waiter.
func TestAcquire_FailuresDoNotChaseEachOther(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		var waiting sync.WaitGroup
		ctx, cancel := context.WithTimeout(t.Context(), ttl/2)
		defer cancel()
		for range 2 {
			l, _ := c.Locker()
			warmUp(t, l)
			waiting.Go(func() {
				time.Sleep(time.Second)
				if _, err := l.Acquire(ctx, "x"); !errors.Is(err, redlock.ErrNoQuorum) {
					t.Errorf("got %v, want %v", err, redlock.ErrNoQuorum)
				}
			})
		}
		c.Jump(0, time.Minute)
		c.Jump(1, 2*time.Minute)
		before := c.Asked()
		waiting.Wait()
		if asked := c.Asked() - before; asked < 20 || asked > 1000 {
			t.Errorf("%d requests in %v", asked, ttl/2)
		}
	})
}
