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

// Two or three processes take the lock repeatedly, with short holds and random pauses. Each may be about to be notified,
// about to ask, or queueing behind another one; nobody waits while the lock is free.
func TestAcquire_AgainAndAgainNeverStalls(t *testing.T) {
	for _, processes := range []int{2, 3} {
		for _, hold := range []time.Duration{0, 3 * time.Millisecond} {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				c.Delay(300 * time.Microsecond)
				var all sync.WaitGroup
				for range processes {
					l, _ := c.Locker()
					warmUp(t, l)
					all.Go(func() {
						for range 30 {
							if waited := takeTurns(t, l, 1, hold); waited > 100*time.Millisecond {
								t.Errorf("%d processes, held for %v: waited %v", processes, hold, waited)
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
// notified. They lose little time, too.
func TestAcquire_AgainAndAgainByManyAsksLittle(t *testing.T) {
	bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
		const many, turns, hold = 20, 6, 3 * time.Millisecond
		c.Delay(300 * time.Microsecond)
		var before int
		var began time.Time
		var ready, all sync.WaitGroup
		var measured sync.Once
		ready.Add(many)
		for range many {
			l, _ := c.Locker()
			warmUp(t, l)
			all.Go(func() {
				takeTurns(t, l, 1, hold)
				ready.Done()
				ready.Wait() // joining is not measured
				measured.Do(func() { before, began = c.Asked(), time.Now() })
				takeTurns(t, l, turns-1, hold)
			})
		}
		all.Wait()
		const holds = many * (turns - 1)
		if each := float64(c.Asked()-before) / holds; each > 15.5 {
			t.Errorf("%.1f requests for each hold, want little more than the ten that it takes", each)
		}
		if took := time.Since(began); took > holds*(hold+15*time.Millisecond) {
			t.Errorf("%d holds of %v took %v", holds, hold, took)
		}
	})
}

// The first waiter is notified of a release, and its context ends while it asks. Its own attempt is still on the nodes
// when it has them notify the next one, which has also given up, and so on.
func TestAcquire_ThatEndsWhileItAsksHasTheNextOneNotified(t *testing.T) {
	for _, cut := range []time.Duration{200 * time.Microsecond, 600 * time.Microsecond, time.Millisecond} {
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
