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

// A release makes only a few of many waiters ask, and the one that takes the lock notifies the next. Nobody waits for a
// lease to run out, and each waiter gets the lock once.
func TestAcquire_OfManyWhoWaitFewAreNotifiedOfARelease(t *testing.T) {
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

// listed starts these waiters one after the other, and waits until each is in the list of some node, so the lists have
// this order.
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

// The first waiters in the list may have stopped waiting. They have the next one notified.
func TestAcquire_ThatWasGivenUpHasTheNextOneNotified(t *testing.T) {
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
		next.hasItSoonAfter(t, lease, many*5*time.Millisecond) // by themselves, the nodes skip one every 20 ms
	})
}

// The first processes in the list may hang. The next one still gets the lock soon.
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

// A process that releases the lock and wants it again at once does not get it before a waiter does.
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
		links.Delay(2 * time.Millisecond) // the waiter is the slower one
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

// A waiter that was notified of a release but lost the lock to another process is notified of the next release, too.
func TestAcquire_WhereAnotherOneTookItIsNotifiedAgain(t *testing.T) {
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

// Processes that reach the nodes by other addresses ask them in another order. So a release may remove the first waiter
// on another node than those that list the other waiters.
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
