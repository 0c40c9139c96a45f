package redlock_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/redlock"
)

// A waiter that has waited for one holder also learns the next one if a node is dead.
func TestAcquire_IdleWaiterKnowsTheNextHolder(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		first, _ := c.Locker()
		warmUp(t, first)
		mustAcquire(t, first, "x")
		synctest.Wait()
		c.Kill(2)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var waiting sync.WaitGroup
		for range 3 { // one of them gets it
			l, _ := c.Locker()
			waiting.Go(func() { _, _ = l.Acquire(ctx, "x", redlock.WithAutoExtend(redlock.Extension{})) })
		}
		time.Sleep(2 * ttl) // the first lease has run out
		const long = 10 * ttl
		before := c.Requests(0) + c.Requests(1)
		time.Sleep(long)
		asked := c.Requests(0) + c.Requests(1) - before
		cancel()
		waiting.Wait()
		renewals := int(long/(ttl/3)) * 2 * 17 / 16
		if perSecond := float64(asked-renewals) / long.Seconds(); perSecond > 0.6 {
			t.Errorf("%.2f commands a second of two who wait", perSecond)
		}
	})
}

// Waiters of one process queue behind one contender; the nodes see only that one.
func TestAcquire_OfOneProcessQueueUp(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		lease := mustAcquire(t, l, "x")
		const waiters = 50
		var mu sync.Mutex
		var order []int
		var all sync.WaitGroup
		for i := range waiters {
			all.Go(func() {
				takeTurns(t, l, 1, time.Millisecond)
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
			})
			time.Sleep(10 * time.Millisecond)
		}
		before := c.Asked()
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		if !slices.IsSorted(order) || len(order) != waiters {
			t.Errorf("the order was %v", order)
		}
		if asked := c.Asked() - before; asked > waiters*(2*3+5) {
			t.Errorf("%d requests for %d acquisitions", asked, waiters)
		}
	})
}

// If the first node is free and the others name a holder, the holder may be releasing the lock at that moment, and no
// message may report it.
func TestContend_AsksAgainSoonWhereANodeIsFree(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		held := l.Order("x")[1:]
		c.Delay(time.Millisecond, held...)
		take(c, "x", held...)
		time.AfterFunc(time.Second, func() { drop(c, "x", held...) })
		if took := bubble.Took(func() { acquiredWithin(t, l, 3*time.Second) }); took < time.Second {
			t.Errorf("took %v, though it was held for a second", took)
		}
	})
}

// If the nodes are slow but within the timeout, there is no time to ask one after the other: a caller that always did
// so would never get the lock. How soon it gets the lock depends on connections used up by unanswered calls.
func TestAcquire_WhereARoundTripTakesMostOfTheNodeTimeout(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		waiter, _ := c.Locker()
		warmUp(t, waiter)
		lease := mustAcquire(t, l, "x")
		c.Delay(nodeTimeout/2 - 5*time.Millisecond)
		time.AfterFunc(ttl/2, func() { _ = lease.Release(context.WithoutCancel(t.Context())) })
		ctx, cancel := context.WithTimeout(t.Context(), ttl/2+ttl)
		defer cancel()
		if _, err := waiter.Acquire(ctx, "x"); err != nil {
			t.Error(err)
		}
	})
}

func TestAcquire_TellsOfItsAttempts(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		waiter, _ := c.Locker()
		var reported []error
		option := redlock.WithAttempts(func(took time.Duration, err error) {
			if took < 0 || took > nodeTimeout {
				t.Errorf("an attempt took %v", took)
			}
			reported = append(reported, err)
		})
		lease := mustAcquire(t, l, "x")
		if _, err := waiter.TryAcquire(t.Context(), "x"); !errors.Is(err, redlock.ErrHeld) {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { _ = lease.Release(context.WithoutCancel(t.Context())) })
		if _, err := waiter.Acquire(t.Context(), "x", option); err != nil {
			t.Fatal(err)
		}
		last := len(reported) - 1
		if last < 1 || reported[last] != nil {
			t.Fatalf("reported %v", reported)
		}
		for _, err := range reported[:last] {
			if !errors.Is(err, redlock.ErrHeld) {
				t.Errorf("reported %v, want %v", err, redlock.ErrHeld)
			}
		}
	})
}

// Of two callers that wait for the same lock, the one that gives a head start gets it only if nobody else wants it.
func TestAcquire_LetsOthersGoFirst(t *testing.T) {
	for name, free := range map[string]func(t *testing.T, lease *redlock.Lease){
		"released": func(t *testing.T, lease *redlock.Lease) {
			if err := lease.Release(t.Context()); err != nil {
				t.Error(err)
			}
		},
		"run out": func(_ *testing.T, lease *redlock.Lease) { lease.Abandon() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
				const headStart = 2 * time.Second
				l, _ := c.Locker()
				var waiting sync.WaitGroup
				won := make(chan string, 2)
				wait := func(who string, opts ...redlock.AcquireOption) {
					other, _ := c.Locker()
					waiting.Go(func() {
						lease, err := other.Acquire(t.Context(), "x", opts...)
						if err != nil {
							t.Error(err)
							return
						}
						won <- who
						time.Sleep(ttl / 4)
						if err := lease.Release(t.Context()); err != nil {
							t.Error(err)
						}
					})
				}
				for range 2 {
					lease := mustAcquire(t, l, "x")
					wait("gives a head start", redlock.WithHeadStart(headStart))
					time.Sleep(headStart + time.Second) // it waits for the lock
					wait("other")
					time.Sleep(time.Second)
					free(t, lease)
					if first := <-won; first != "other" {
						t.Errorf("first %s", first)
					}
					released := bubble.Took(func() { <-won }) - ttl/4
					if released < headStart || released > headStart+time.Second {
						t.Errorf("the one that gives a head start had it %v after the other one's release", released)
					}
					waiting.Wait()
				}
			})
		})
	}
}

func TestAcquire_WithAHeadStartEndsWithClose(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		warmUp(t, l)
		closed := make(chan error, 1)
		time.AfterFunc(time.Second, func() { closed <- l.Close(context.WithoutCancel(t.Context())) })
		var err error
		d := bubble.Took(func() { _, err = l.Acquire(t.Context(), "x", redlock.WithHeadStart(ttl)) })
		if !errors.Is(err, redlock.ErrClosed) || d > time.Second {
			t.Errorf("after %v: %v", d, err)
		}
		began := time.Now()
		if err := <-closed; err != nil || time.Since(began) > 0 {
			t.Errorf("closed %v later: %v", time.Since(began), err)
		}
	})
}
