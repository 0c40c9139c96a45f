package redlock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/redlock"
)

// longestLease is the MaxTTL of the waiters, and so the longest they would wait for another client's hold.
const longestLease = 200 * ttl

// One node has a forged deadline in its record, and the holder is gone without a release. A waiter asks again when the
// holder's lease has run out, or one TTL later if it must ask the forged node first, whichever node that is and
// whichever node answers last.
func TestAcquire_WaitsForNoForgedDeadline(t *testing.T) {
	for node := range 3 {
		for slow := range 3 {
			t.Run(fmt.Sprint("node ", node, ", node ", slow, " is slow"), func(t *testing.T) {
				bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
					holder, _ := c.Locker()
					mustAcquire(t, holder, "x")
					synctest.Wait()
					records.Default.Shorten(t, "x", time.Hour, raw(c, node)...)
					waiter, links := c.Locker(redlock.WithMaxTTL(longestLease))
					links.Delay(5*time.Millisecond, slow)
					acquiredWithin(t, waiter, 2*ttl+ttl/10)
				})
			})
		}
	}
}

// The same with a holder that extends its lease, and a deadline that is forged on one node again and again.
func TestAcquire_WaitsForNoDeadlineThatIsForgedAgainAndAgain(t *testing.T) {
	for node, deadline := range []time.Duration{time.Hour, time.Hour, 200 * 365 * 24 * time.Hour} {
		t.Run(fmt.Sprint(deadline, " on node ", node), func(t *testing.T) {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				holder, links := c.Locker()
				mustAcquire(t, holder, "x", redlock.WithAutoExtend(redlock.Extension{}))
				synctest.Wait()
				ctx, stop := context.WithTimeout(t.Context(), 10*ttl)
				var forging sync.WaitGroup
				forging.Go(func() { // ends with stop
					for ctx.Err() == nil {
						records.Default.Shorten(t, "x", deadline, raw(c, node)...)
						time.Sleep(100 * time.Millisecond)
					}
				})
				time.AfterFunc(ttl, func() { links.Cut(0, 1, 2) })
				waiter, _ := c.Locker(redlock.WithMaxTTL(longestLease))
				acquiredWithin(t, waiter, ttl+3*ttl+ttl/10)
				stop()
				forging.Wait()
			})
		})
	}
}

// The deadline is forged on all nodes and later corrected, which nobody is notified of. A waiter asks again after the
// longest lease. Without a guard, it is the waiter that knows how long a lease can be, and not the node.
func TestAcquire_AsksAgainAfterTheLongestLease(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		holder, _ := c.Locker()
		mustAcquire(t, holder, "x")
		synctest.Wait()
		records.Default.Shorten(t, "x", time.Hour, raw(c, 0, 1, 2)...)
		time.AfterFunc(ttl, func() { records.Default.Shorten(t, "x", time.Millisecond, raw(c, 0, 1, 2)...) })
		waiter, _ := c.Locker(redlock.WithMaxTTL(3*ttl), redlock.WithoutRestartGuard())
		acquiredWithin(t, waiter, 3*ttl+ttl/10)
	})
}

// acquiredWithin has a Locker wait for the lock, and fails the test if that takes longer.
func acquiredWithin(t *testing.T, l *redlock.Locker, most time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
	defer cancel()
	took := bubble.Took(func() {
		if _, err := l.Acquire(ctx, "x"); err != nil {
			t.Error(err)
		}
	})
	if took > most {
		t.Errorf("waited %v, want at most %v", took, most)
	}
}

// One node names another holder than the others do. A waiter knows whom the majority names, whichever node differs, and
// does not ask endlessly.
func TestAcquire_WaitsForTheHolderWhomMostNodesName(t *testing.T) {
	for node := range 3 {
		bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
			holder, _ := c.Locker()
			mustAcquire(t, holder, "x")
			synctest.Wait()
			take(c, "x", node)
			waiter, _ := c.Locker()
			warmUp(t, waiter)
			before := c.Asked()
			acquiredWithin(t, waiter, ttl+ttl/5)         // the hold, and a pause of up to a second after a failed attempt
			if asked := c.Asked() - before; asked > 21 { // among them a look at each node
				t.Errorf("node %d names somebody else: it asked %d times, 12 are enough", node, asked)
			}
		})
	}
}

// Only one node can be reached, and it names a holder. That may be the record of a failed attempt, so a waiter does not
// wait for the end of that hold.
func TestAcquire_DoesNotWaitForAHolderWhomOneNodeNames(t *testing.T) {
	for node := range 3 {
		bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
			take(c, "x", node)
			waiter, links := c.Locker()
			warmUp(t, waiter)
			links.Cut((node+1)%3, (node+2)%3)
			time.AfterFunc(2*time.Second, func() { links.Heal() })
			acquiredWithin(t, waiter, 2*time.Second+ttl/5) // a pause of up to a second, and one after a failed attempt
		})
	}
}
