package redlock_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

// A process is closed, or the context of a call ends, while it waits for a list.
func TestLists_CloseAndContextsWhileItWaits(t *testing.T) {
	bubble.RunFresh(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, links := c.Locker()
		links.Hang(2)
		done := make(chan error, 2)
		go func() { _, err := l.Acquire(t.Context(), "x"); done <- err }()
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("why")
		go func() { _, err := l.TryAcquire(ctx, "y"); done <- err }()
		time.Sleep(50 * time.Millisecond)
		cancel(why)
		err := <-done
		want.Err(t, err, why)
		want.Text(t, err, "all nodes must be heard once") // of those that have answered
		want.NoError(t, l.Close(t.Context()))
		err = <-done
		want.Err(t, err, redlock.ErrClosed)
	})
}

// The leases of a process whose list was replaced are not extended under another one: the old process is cut off while its list grows.
func TestLists_APausedProcessExtendsNothing(t *testing.T) {
	bubble.RunFresh(t, 5, func(t *testing.T, c *bubble.Cluster) {
		old, links := c.LockerOf([]int{0, 1, 2})
		warmGuard(t, old)
		lease := mustAcquire(t, old, "x")
		links.Hang(0, 1, 2) // what it sends arrives later
		ext := make(chan error, 1)
		go func() { ext <- lease.Extend(context.Background()) }()
		go func() { _, _ = old.TryAcquire(context.Background(), "x") }()
		time.Sleep(time.Second)
		later, _ := c.Locker()
		next, err := later.Acquire(t.Context(), "x", redlock.WithAutoExtend(redlock.Extension{}))
		want.NoError(t, err)
		links.Heal()
		time.Sleep(time.Minute)
		if err := <-ext; err == nil {
			t.Error("the lease was extended under the new list")
		}
		if lease.Valid() || !next.Valid() || next.Token() <= lease.Token() {
			t.Errorf("valid are %t and %t, the tokens %d and %d", lease.Valid(), next.Valid(), lease.Token(), next.Token())
		}
	})
}

// Processes without a guard, and those that accept servers without an identity, start and change their lists.
func TestLists_OtherSettings(t *testing.T) {
	for name, opt := range map[string]redlock.Option{"no guard": redlock.WithoutRestartGuard(), "unseen": redlock.WithUnseenRestarts()} {
		t.Run(name, func(t *testing.T) {
			bubble.RunFresh(t, 3, func(t *testing.T, c *bubble.Cluster) {
				if name == "unseen" {
					for i := range 3 {
						c.Deny(i, "INFO")
					}
				}
				one, _ := c.LockerOf([]int{0}, opt)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				lease, err := one.Acquire(ctx, "x")
				want.NoError(t, err)
				want.NoError(t, lease.Release(ctx), one.Close(ctx))
				time.Sleep(time.Second)
				three, _ := c.Locker(opt)
				next, err := three.Acquire(ctx, "x")
				want.NoError(t, err)
				if next.Token() <= lease.Token() {
					t.Errorf("token %d after %d", next.Token(), lease.Token())
				}
				if name == "unseen" {
					want.NoError(t, next.Release(ctx))
					c.Kill(1)
					c.Wipe(1)
					c.Restart(1)
					time.Sleep(3 * ttl)
					acquireAndRelease(t, three, "y")
					time.Sleep(3 * ttl)
					for i, n := range three.Nodes(t.Context()) {
						if n.List.State != redlock.ListJoined {
							t.Errorf("node %d: %+v", i, n)
						}
					}
				}
			})
		})
	}
}

// A list grew from three nodes to five an hour ago, and two of the three lose their data while a replica with the old list still runs. No
// two leases are valid at a time.
func TestLists_TwoOfTheFirstNodesAreLostAfterGrowing(t *testing.T) {
	bubble.RunFresh(t, 5, func(t *testing.T, c *bubble.Cluster) {
		old, lease := usedBy(c, 0, 1, 2)
		want.NoError(t, lease.Release(t.Context()))
		later, _ := c.Locker()
		next, err := later.Acquire(t.Context(), "x", redlock.WithAutoExtend(redlock.Extension{}))
		want.NoError(t, err)
		time.Sleep(time.Hour)
		for i := range 2 {
			c.Kill(i)
			c.Wipe(i)
			c.Restart(i)
		}
		for range 60 {
			second, err := old.TryAcquire(t.Context(), "x")
			if err == nil && second.Valid() && next.Valid() {
				t.Fatalf("tokens %d and %d are valid", next.Token(), second.Token())
			}
			time.Sleep(time.Second)
		}
		if !next.Valid() {
			t.Error("the lease is over")
		}
	})
}

// Each node in turn loses its data, several times, and a process starts after each loss. The lease goes on.
func TestLists_ARollingRestartOfAllNodesWithoutTheirData(t *testing.T) {
	bubble.RunFresh(t, 3, func(t *testing.T, c *bubble.Cluster) {
		_, lease := usedBy(c, 0, 1, 2)
		for n := range 9 {
			c.Kill(n % 3)
			c.Wipe(n % 3)
			c.Restart(n % 3)
			time.Sleep(2 * ttl)
			other, _ := c.Locker()
			ctx, cancel := context.WithTimeout(t.Context(), ttl)
			y, err := other.Acquire(ctx, "y")
			want.NoError(t, err)
			want.NoError(t, y.Release(ctx), other.Close(ctx))
			cancel()
		}
		if !lease.Valid() {
			t.Error("the lease is over")
		}
	})
}

// Two nodes of three lose their data, and later all three get data back from when the next list was being made. Those who used that list
// make it again.
func TestLists_AllNodesGetDataBackFromBeforeTheyJoined(t *testing.T) {
	bubble.RunFresh(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, links := c.Locker()
		warmGuard(t, l)
		acquireAndRelease(t, l, "x")
		links.Delay(5*time.Millisecond, 0, 1, 2) // so that there is a moment between two steps
		for _, node := range []int{0, 2} {
			c.Kill(node)
			c.Wipe(node)
			c.Restart(node)
		}
		mayTake := func() { // the lock, when the guard is over
			ctx, cancel := context.WithTimeout(t.Context(), 4*ttl)
			defer cancel()
			lease, err := l.Acquire(ctx, "y")
			want.NoError(t, err)
			want.NoError(t, lease.Release(ctx))
		}
		var older [3]*nodetest.Snapshot
		var making sync.WaitGroup
		making.Go(mayTake) // ends with its context
		bubble.Await(t, "the next list on new servers", 2*ttl, func() bool {
			state := c.Node(2).HGet("{redlock}", "s")
			return strings.Contains(state, " - ") && strings.Contains(state, ":2:")
		})
		for node := range older {
			older[node] = c.Snapshot(node)
		}
		making.Wait()
		for node := range older {
			c.RestartFrom(node, older[node])
		}
		mayTake()
	})
}
