package redlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/redlock"
)

// released has the waiter wait for a lock that is released after two seconds, and fails the test unless it gets the
// lock soon after.
func released(t *testing.T, lease *redlock.Lease, waiter *redlock.Locker, release func()) {
	t.Helper()
	time.AfterFunc(2*time.Second, func() {
		release()
		_ = lease.Release(context.WithoutCancel(t.Context()))
	})
	d := bubble.Took(func() {
		if _, err := waiter.Acquire(t.Context(), "x"); err != nil {
			t.Error(err)
		}
	})
	if d > 4*time.Second {
		t.Errorf("acquired %v after the release", d-2*time.Second)
	}
}

// holding takes the lock for a process that has warmed up, and so knows the clocks.
func holding(t *testing.T, holder *redlock.Locker) *redlock.Lease {
	t.Helper()
	lease, err := holder.TryAcquire(t.Context(), "x")
	if err != nil { // it had old connections to the nodes that restarted
		lease = mustAcquire(t, holder, "x")
	}
	synctest.Wait()
	return lease
}

// In a rolling restart, the two nodes that list a waiter may be the guarded ones, which hold no lock.
func TestAcquire_IsNotifiedByNodesThatDoNotHoldTheLock(t *testing.T) {
	bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
		holder, _ := c.Locker()
		waiter, _ := c.Locker()
		warmUp(t, holder)
		warmUp(t, waiter)
		for _, i := range waiter.Order("x")[:2] {
			c.Restart(i)
		}
		released(t, holding(t, holder), waiter, func() {})
	})
}

// The first node has published the release, but is slow to grant. The other two, which the release has not reached yet,
// name the holder again; then they publish it.
func TestAcquire_IsNotifiedAgainOfAHolderThatWasNamedAgain(t *testing.T) {
	for first := range 3 {
		bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
			holder, far := c.Locker()
			waiter, near := c.Locker()
			warmUp(t, holder)
			warmUp(t, waiter)
			released(t, holding(t, holder), waiter, func() {
				for i := range 3 {
					if i != first {
						far.Delay(150*time.Millisecond, i)
					}
				}
				near.Delay(30*time.Millisecond, first)
			})
		})
	}
}

// Waiters that learn of the release from only one node, because their other node is guarded.
func TestAcquire_IsNotifiedBesideABrokenSubscription(t *testing.T) {
	for guarded := range 3 {
		for broken := range 3 {
			if guarded == broken {
				continue
			}
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				holder, _ := c.Locker()
				waiter, near := c.Locker()
				warmUp(t, holder)
				warmUp(t, waiter)
				c.Restart(guarded)
				lease := holding(t, holder)
				time.AfterFunc(time.Second, func() { near.Delay(5 * time.Millisecond) })
				time.AfterFunc(2*time.Second-time.Millisecond, func() { near.Cut(broken) })
				time.AfterFunc(2*time.Second+25*time.Millisecond, func() { near.Heal() })
				released(t, lease, waiter, func() {})
			})
		}
	}
}
