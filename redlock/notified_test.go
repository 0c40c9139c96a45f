package redlock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/redlock"
)

// Two or three processes take the lock repeatedly, with short random holds and pauses. Each may be about to be
// notified, about to ask, or queueing behind another one; nobody waits while the lock is free.
func TestAcquire_AgainAndAgainNeverStalls(t *testing.T) {
	for _, processes := range []int{2, 3} {
		for _, hold := range []time.Duration{0, time.Millisecond, 3 * time.Millisecond} {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				c.Delay(300 * time.Microsecond)
				var all sync.WaitGroup
				for range processes {
					l, _ := c.Locker()
					warmUp(t, l)
					all.Go(func() {
						for range 50 {
							began := time.Now()
							lease, err := l.Acquire(t.Context(), "x")
							if err != nil {
								t.Error(err)
								return
							}
							if took := time.Since(began); took > 100*time.Millisecond {
								t.Errorf("%d processes, held for %v: waited %v", processes, hold, took)
							}
							time.Sleep(hold)
							if err := lease.Release(t.Context()); err != nil {
								t.Error(err)
							}
							time.Sleep(rand.N(8 * time.Millisecond))
						}
					})
				}
				all.Wait()
			})
		}
	}
}

// Many processes that take the lock repeatedly send few extra requests: a process behind others waits until it is
// notified.
func TestAcquire_AgainAndAgainByManyAsksLittle(t *testing.T) {
	bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
		const many, turns = 30, 10
		c.Delay(300 * time.Microsecond)
		var before int
		var ready, all sync.WaitGroup
		var measured sync.Once
		ready.Add(many)
		for range many {
			l, _ := c.Locker()
			warmUp(t, l)
			all.Go(func() {
				for turn := range turns {
					lease, err := l.Acquire(t.Context(), "x")
					if err != nil {
						t.Error(err)
						return
					}
					time.Sleep(3 * time.Millisecond)
					if err := lease.Release(t.Context()); err != nil {
						t.Error(err)
					}
					if turn == 0 {
						ready.Done()
						ready.Wait() // joining is not measured
						measured.Do(func() { before = c.Asked() })
					}
				}
			})
		}
		all.Wait()
		if each := float64(c.Asked()-before) / (many * (turns - 1)); each > 15.5 {
			t.Errorf("%.1f requests for each hold, want little more than the ten that it takes", each)
		}
	})
}

// The first waiter is notified of a release, and its context ends while it asks. Its own attempt is still on the nodes
// when it has them notify the next one, which has also given up, and so on.
func TestAcquire_ThatEndsWhileItAsksHasTheNextOneNotified(t *testing.T) {
	for cut := 200 * time.Microsecond; cut <= time.Millisecond; cut += 200 * time.Microsecond {
		bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
			c.Delay(300 * time.Microsecond)
			holder, _ := c.Locker()
			warmUp(t, holder)
			lease := mustAcquire(t, holder, "x")
			first, end := context.WithCancel(t.Context())
			second, giveUp := context.WithCancel(t.Context())
			var all sync.WaitGroup
			var won time.Time
			wait := func(ctx context.Context, want error) func() {
				l, _ := c.Locker()
				warmUp(t, l)
				return func() {
					all.Go(func() {
						_, err := l.Acquire(ctx, "x")
						if !errors.Is(err, want) {
							t.Errorf("ended after %v: got %v, want %v", cut, err, want)
						}
						if err == nil {
							won = time.Now()
						}
					})
				}
			}
			listed(t, c, "x", wait(first, context.Canceled), wait(second, context.Canceled), wait(t.Context(), nil))
			giveUp()
			synctest.Wait()
			released := time.Now()
			time.AfterFunc(cut, end)
			if err := lease.Release(t.Context()); err != nil {
				t.Error(err)
			}
			all.Wait()
			if took := won.Sub(released); took > 15*time.Millisecond { // sooner than the nodes skip a waiter by themselves
				t.Errorf("ended after %v: the third one had it after %v", cut, took)
			}
		})
	}
}

// An attempt whose answers came too late looks like a hold. Its context ends before the next attempt, and waiters are
// notified when it is removed.
func TestAcquire_IsNotifiedOfTheEndOfAnAttemptThatWasGranted(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		failing, links := c.Locker()
		waiter, _ := c.Locker()
		warmUp(t, failing)
		warmUp(t, waiter)
		links.Delay(nodeTimeout * 3 / 4) // there and back is longer than that
		ctx, cancel := context.WithTimeout(t.Context(), nodeTimeout+5*time.Millisecond)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			_, err := failing.Acquire(ctx, "x", redlock.WithBackoff(50*time.Millisecond, 60*time.Millisecond))
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
			}
		})
		time.Sleep(nodeTimeout * 9 / 10)
		began := time.Now()
		all.Go(func() {
			if _, err := waiter.Acquire(t.Context(), "x"); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > ttl/4 {
				t.Errorf("took %v", took)
			}
		})
		time.Sleep(nodeTimeout * 3 / 10)
		links.Heal()
		all.Wait()
	})
}

// Nodes that cannot write still say who holds a lock, also to waiters.
func TestAcquire_WhereNodesWriteNothing(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		holder, _ := c.Locker()
		mustAcquire(t, holder, "x")
		waiter, _ := c.Locker()
		warmUp(t, waiter)
		for i := range 3 {
			c.Deny(i, "HSET")
		}
		ctx, cancel := context.WithTimeout(t.Context(), ttl/2)
		defer cancel()
		if _, err := waiter.Acquire(ctx, "x"); !errors.Is(err, redlock.ErrHeld) {
			t.Errorf("got %v, want %v", err, redlock.ErrHeld)
		}
	})
}
