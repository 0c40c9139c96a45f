package redlock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/redlock"
)

// The leftovers of a split vote belong to no holder, so waiting for their end is pointless.
func TestAcquire_DoesNotWaitForAMinority(t *testing.T) {
	bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
		take(c, "x", 0)
		c.Kill(1)
		c.Kill(2)
		l, _ := c.Locker()
		ctx, cancel := context.WithTimeout(t.Context(), 2*ttl)
		defer cancel()
		time.AfterFunc(ttl, func() {
			c.Restart(1)
			take(c, "x", 0) // again: no lease outlasts the longest one
		})
		if _, err := l.Acquire(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("nodes 3 and 4, and 1 which is guarded: %v", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), ttl)
		defer cancel()
		if _, err := l.Acquire(ctx, "x"); err != nil {
			t.Errorf("nodes 1, 3 and 4: %v", err)
		}
	})
}

// A leader that is cut off from a majority still extends its records on the other nodes. A waiter whose line these keep
// must not wait for a lease that no majority holds.
func TestAcquire_DoesNotWaitForAHolderWithoutAMajority(t *testing.T) {
	bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
		holder, links := c.Locker()
		lease := mustAcquire(t, holder, "x", redlock.WithAutoExtend(redlock.Extension{}))
		synctest.Wait()
		waiter, _ := c.Locker()
		won := make(chan error)
		go func() {
			_, err := waiter.Acquire(t.Context(), "x")
			won <- err
		}()
		time.Sleep(ttl) // the waiter has seen an extension
		cut, order := time.Now(), waiter.Order("x")
		links.Cut(order[2:]...)
		if err := <-won; err != nil {
			t.Error(err)
		}
		// Extensions sent just before the cut, or after it but unaware of it, are trusted.
		if took, most := time.Since(cut), ttl+ttl/3+ttl/10; took > most {
			t.Errorf("took %v from the cut on, want at most %v", took, most)
		}
		if lease.Valid() {
			t.Error("two holders")
		}
	})
}

// One node that always says that the lock is held, and is asked first, delays nobody for longer than a lease.
func TestAcquire_BelievesNoSingleNodeTwice(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		first := l.Order("x")[0]
		records.Default.Put(t, "x", records.SomebodyElse, ttl, c.Raw()...)
		time.AfterFunc(ttl/2, func() {
			records.Default.Put(t, "x", records.SomebodyElse, time.Hour, raw(c, first)...)
		})
		began := time.Now()
		if _, err := l.Acquire(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < ttl || took > 2*ttl+ttl/10 {
			t.Errorf("took %v, want within two times the TTL of %v", took, ttl)
		}
	})
}
