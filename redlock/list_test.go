package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/redlock"
)

// Of many who wait a release has few ask, and whoever takes the lock has the next one told: nobody waits for the end of a
// lease, and all have it once.
func TestAcquire_OfManyWhoWaitFewAreToldOfARelease(t *testing.T) {
	bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
		const many, hold = 30, 30 * time.Millisecond
		c.Delay(300 * time.Microsecond)
		holder, _ := c.Locker()
		warmUp(t, holder)
		lease := mustAcquire(t, holder, "x")
		var waiting sync.WaitGroup
		for range many {
			l, _ := c.Locker()
			warmUp(t, l)
			waiting.Go(func() {
				mine, err := l.Acquire(t.Context(), "x")
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(hold)
				if err := mine.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Second)
		before, began := c.Asked(), time.Now()
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
		waiting.Wait()
		if took := time.Since(began); took > many*(hold+10*time.Millisecond) {
			t.Errorf("%d holds of %v took %v", many, hold, took)
		}
		if each := (c.Asked() - before) / many; each > 14 {
			t.Errorf("%d requests for each hold, want little more than the ten that it takes", each)
		}
	})
}

// listed waits until each of these is in the list of some node, begun one after the other, so that they are in this order.
func listed(t *testing.T, c *bubble.Cluster, name string, begin ...func()) {
	t.Helper()
	for i, fn := range begin {
		fn()
		bubble.Await(t, "list", ttl/2, func() bool {
			return slices.ContainsFunc(c.Raw(), func(node *redis.Client) bool {
				who, err := records.Default.WaitingOn(t.Context(), name, node)
				if err != nil {
					t.Error(err)
				}
				return len(who) == i+1
			})
		})
		synctest.Wait()
	}
}

// Those who are first in the list may wait no more. They have the next one told.
func TestAcquire_ThatWasGivenUpHasTheNextOneTold(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		holder, _ := c.Locker()
		lease := takenOnAll(t, holder, "x")
		ctx, giveUp := context.WithCancel(t.Context())
		const many = 20
		var waiting sync.WaitGroup
		inVain := func() {
			l, _ := c.Locker()
			warmUp(t, l)
			waiting.Go(func() {
				if _, err := l.Acquire(ctx, "x"); !errors.Is(err, context.Canceled) {
					t.Errorf("got %v, want %v", err, context.Canceled)
				}
			})
		}
		next := newWaiter(c)
		listed(t, c, "x", append(slices.Repeat([]func(){inVain}, many), next.begins(t.Context(), "x"))...)
		giveUp()
		waiting.Wait()
		next.hasItSoonAfter(t, lease, many*5*time.Millisecond) // the nodes pass over one every 20 ms by themselves
	})
}

// The processes that are first in the list may hang. The next one has the lock soon nevertheless.
func TestAcquire_BehindProcessesThatHang(t *testing.T) {
	for _, hanging := range []int{1, 2, 4} {
		bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
			holder, _ := c.Locker()
			lease := takenOnAll(t, holder, "x")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var waiting sync.WaitGroup
			var begin []func()
			var all []*nodetest.Links
			for range hanging {
				l, links := c.Locker()
				all = append(all, links)
				begin = append(begin, func() { waiting.Go(func() { _, _ = l.Acquire(ctx, "x") }) })
			}
			next := newWaiter(c)
			listed(t, c, "x", append(begin, next.begins(t.Context(), "x"))...)
			for _, links := range all {
				links.Hang()
			}
			next.hasItSoonAfter(t, lease, time.Duration(hanging)*50*time.Millisecond)
			for _, links := range all {
				links.Heal()
			}
			cancel()
			waiting.Wait()
		})
	}
}

// Who gives the lock up and wants it again at once does not have it before the one who waits.
func TestAcquire_AfterAReleaseGoesBehindThoseWhoWait(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		busy, _ := c.Locker()
		other, links := c.Locker()
		warmUp(t, other)
		acquire := func(l *redlock.Locker) *redlock.Lease {
			lease, err := l.Acquire(t.Context(), "x")
			if err != nil {
				t.Fatal(err)
			}
			return lease
		}
		links.Delay(2 * time.Millisecond) // it is the slower one
		lease := acquire(busy)
		for range 20 {
			var waiting sync.WaitGroup
			var theirs *redlock.Lease
			waiting.Go(func() { theirs, _ = other.Acquire(t.Context(), "x") })
			time.Sleep(100 * time.Millisecond)
			if err := lease.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(50*time.Millisecond, func() {
				waiting.Wait()
				if err := theirs.Release(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			})
			released := time.Now()
			lease = acquire(busy)
			if took := time.Since(released); took < 50*time.Millisecond {
				t.Fatalf("it had the lock again after %v", took)
			}
		}
	})
}

// Who was told of a release, and finds that another one has taken the lock, is told of the next one too.
func TestAcquire_WhereAnotherOneTookItIsToldAgain(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		holder, _ := c.Locker()
		lease := takenOnAll(t, holder, "x")
		slow := newWaiter(c)
		slow.links.Delay(5 * time.Millisecond)
		listed(t, c, "x", slow.begins(t.Context(), "x"))
		another, _ := c.Locker()
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		lease = mustAcquire(t, another, "x")
		time.Sleep(time.Second)
		slow.hasItSoonAfter(t, lease, 100*time.Millisecond)
	})
}

// Processes that reach the nodes by addresses of their own ask them in orders of their own: then the one who gives the lock
// up has another node take the first one off its list than those in whose lists the others are.
func TestAcquire_OfProcessesWhoseOrdersDiffer(t *testing.T) {
	for round := range 10 {
		bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
			waiter := newAliased(c, fmt.Sprint("alias-", round)).locker
			holder, _ := c.Locker()
			for turn := range 5 {
				name := fmt.Sprint("x", turn)
				lease := mustAcquire(t, holder, name)
				synctest.Wait()
				var released time.Time
				time.AfterFunc(time.Second, func() {
					released = time.Now()
					_ = lease.Release(context.WithoutCancel(t.Context()))
				})
				if _, err := waiter.Acquire(t.Context(), name); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(released); took > 100*time.Millisecond {
					t.Errorf("took %v after the release", took)
				}
			}
		})
	}
}
