package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
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
	long(t)
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
		if each := float64(c.Asked()-before) / holds; each > 17 { // with some looks at the nodes
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

// A node that hangs does not confirm a subscription. The first wait of a process does not wait for that.
func TestAcquire_FirstWaitBesideAHungNode(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		holder, _ := c.Locker()
		w := newWaiter(c)
		lease := takenOnAll(t, holder, "x")
		c.Delay(300 * time.Microsecond)      // so a release reaches both other nodes before anybody has heard of it
		w.links.Hang(w.locker.Order("x")[2]) // it does not keep the line either
		w.begins(t.Context(), "x")()
		time.Sleep(10 * time.Millisecond)
		w.hasItSoonAfter(t, lease, 50*time.Millisecond)
	})
}

// On slow links, the release may fall between the first answers and the confirmation of the subscription.
func TestOnHolder_OfAReleaseBeforeASlowSubscription(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		holder, _ := c.Locker()
		l, process := c.Locker()
		warmUp(t, l)
		lease := mustAcquire(t, holder, "x")
		process.Delay(70 * time.Millisecond) // it has connections for questions, but none for messages
		time.AfterFunc(200*time.Millisecond, func() { _ = lease.Release(context.WithoutCancel(t.Context())) })
		released := make(chan struct{})
		took := bubble.Took(func() {
			defer inside.Of(l).OnHolder("x", func(h inside.Holder) {
				if h.Token == 0 {
					close(released)
				}
			})()
			<-released
		})
		if took > time.Second {
			t.Errorf("reported after %v", took)
		}
	})
}

// A process starts to wait for many locks at once. Those whose turn to ask comes after the nodes have confirmed the
// subscription do not ask again because of it.
func TestAcquire_OfManyLocksBesideTheSubscription(t *testing.T) {
	long(t)
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		const locks = 4000
		l, _ := c.Locker()
		warmUp(t, l)
		c.Delay(300 * time.Microsecond)
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		var attempts atomic.Int32
		count := redlock.WithAttempts(func(time.Duration, error) { attempts.Add(1) })
		for i := range locks {
			take(c, fmt.Sprint(i), 0, 1, 2)
			waiting.Go(func() { _, _ = l.Acquire(ctx, fmt.Sprint(i), count) })
		}
		time.Sleep(time.Second)
		if n := attempts.Load(); n > locks*3/2 {
			t.Errorf("%d attempts for %d locks", n, locks)
		}
		cancel()
		waiting.Wait()
	})
}

// Many processes start to wait at once, after a split vote: each node names another holder. The nodes confirm a subscription one
// after the other. Each process asks the line once more because of that. If each node were a reason, at once, or a reason to
// ask all nodes, such processes would split the votes again and again.
func TestAcquire_AsksOnceMoreForItsSubscription(t *testing.T) {
	long(t)
	bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
		const many, subscribing = 20, 5
		var waiters []*waiter
		for range many {
			waiters = append(waiters, newWaiter(c))
		}
		for i, node := range c.Raw() {
			records.Default.Put(t, "x", records.Other(fmt.Sprint(i)), time.Hour, node)
			c.Delay(time.Duration(300+50*i)*time.Microsecond, i)
		}
		before := c.Asked()
		for _, w := range waiters {
			w.begins(t.Context(), "x")()
		}
		time.Sleep(100 * time.Millisecond) // less than it takes to doubt a hold that one node alone names
		asked := float64(c.Asked()-before)/many - subscribing
		if want := 5.0 + 2; asked < want || asked > want+1 { // the jitter of a few is shorter than the nodes are apart
			t.Errorf("each process asked %v nodes, want five first and then the two of the line", asked)
		}
	})
}
