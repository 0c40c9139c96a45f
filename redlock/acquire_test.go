package redlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestTryAcquire_ValidityCountsFromTheSend(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, process := c.Locker()
		warmUp(t, l)
		process.Delay(80 * time.Millisecond) // a round trip takes 160 ms
		sent := time.Now()
		lease := mustAcquire(t, l, "x")
		if got := lease.Deadline().Sub(sent); got != validFor {
			t.Errorf("valid until %v after the send, want %v", got, validFor)
		}
		sent = time.Now()
		if err := lease.Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := lease.Deadline().Sub(sent); got != validFor {
			t.Errorf("after an extension valid until %v after the send, want %v", got, validFor)
		}
	})
}

// If some nodes are asked before the others, their records are the oldest and determine the end of the lease. Of five
// nodes, the two that keep the line are no majority.
func TestAcquire_ValidityCountsFromTheFirstNode(t *testing.T) {
	bubble.Run(t, 5, func(t *testing.T, c *bubble.Cluster) {
		const way = 10 * time.Millisecond
		c.Delay(way)
		l, _ := c.Locker()
		waiter, _ := c.Locker()
		for range 20 { // until the smoothed round trip is known
			warmUp(t, waiter)
		}
		lease := takenOnAll(t, l, "x")
		ahead := newWaiter(c)
		listed(t, c, "x", ahead.begins(t.Context(), "x"))
		time.Sleep(time.Second) // it has subscribed
		ahead.links.Hang()      // the process that is notified first asks all nodes at once
		time.AfterFunc(time.Second, func() { _ = lease.Release(context.WithoutCancel(t.Context())) })
		next, err := waiter.Acquire(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		oldest, newest := ttl, time.Duration(0)
		for _, node := range c.Raw() {
			if left := records.Default.Left(t, "x", node); left > 0 {
				oldest, newest = min(oldest, left), max(newest, left)
			}
		}
		if newest-oldest < way {
			t.Fatalf("all nodes were asked within %v", newest-oldest)
		}
		allowance := ttl - validFor
		if spare := oldest - time.Until(next.Deadline()); spare < allowance+way {
			t.Errorf("the oldest record outlives the lease by %v, want %v", spare, allowance+way)
		}
	})
}

// The error contains the cause, and the last outcome even if the context ends in the middle of an attempt. There are many
// attempts in which no majority names the same holder, and the one remaining node cannot help. In the first one there is
// no outcome yet.
func TestAcquire_EndedByItsContextTellsTheLastOutcome(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, process := c.Locker()
		warmUp(t, l)
		c.Answer("LOADING Redis is loading the dataset in memory", 2)
		process.Delay(50 * time.Millisecond)
		cause := errors.New("enough")
		for at := time.Duration(0); at < 2*time.Second; at += 45 * time.Millisecond {
			for i, who := range []string{"one", "two"} {
				records.Default.Put(t, "y", records.Other(who), ttl, raw(c, i)...)
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), at, cause)
			_, err := l.Acquire(ctx, "y")
			cancel()
			want.Err(t, err, cause)
			_, reported := errors.AsType[*redlock.QuorumError](err)
			if at >= time.Second && !reported || strings.Contains(err.Error(), "%!") {
				t.Errorf("ended after %v: got %v, want the outcome of an attempt as well", at, err)
			}
		}
	})
}

// A request does nothing if a node reads it after the caller has stopped waiting.
func TestTryAcquire_LateRequestSetsNothing(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, process := c.Locker()
		warmUp(t, l)
		process.Hang()
		_, err := l.TryAcquire(t.Context(), "x")
		want.Err(t, err, redlock.ErrNoQuorum)
		time.Sleep(2 * ttl)
		process.Heal()
		time.Sleep(time.Second)
		for i, node := range c.Raw() {
			if records.Default.HasNumber(t, "x", node) {
				t.Errorf("node %d has counted a grant", i)
			}
		}
	})
}

// The first release may arrive before the grant, and then finds nothing.
func TestTryAcquire_GrantHeldUpInTheNetworkIsRemoved(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l := lockerWith(c, map[int]*heldUp{
			0: {sends: redlock.SendsAcquire, lost: true}, 1: {sends: redlock.SendsAcquire, lost: true},
		})
		_, err := l.TryAcquire(t.Context(), "x")
		want.Err(t, err, redlock.ErrNoQuorum)
		time.Sleep(nodeTimeout * 3 / 4)
		if on(c, "x") != 2 {
			t.Errorf("the grants have arrived on %d nodes", on(c, "x"))
		}
		time.Sleep(nodeTimeout / 2)
		if on(c, "x") != 0 {
			t.Errorf("still on %d nodes", on(c, "x"))
		}
	})
}

// The request has been sent, and may still be carried out, but the caller need not wait for that.
func TestAcquire_EndsWithItsContextThoughTheOnlyNodeHangs(t *testing.T) {
	for name, acquire := range map[string]func(*redlock.Locker, context.Context) error{
		"TryAcquire": func(l *redlock.Locker, ctx context.Context) error { _, err := l.TryAcquire(ctx, "x"); return err },
		"Acquire":    func(l *redlock.Locker, ctx context.Context) error { _, err := l.Acquire(ctx, "x"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Run(t, 1, func(t *testing.T, c *bubble.Cluster) {
				l, links := c.Locker()
				warmUp(t, l)
				links.Hang()
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				began := time.Now()
				err := acquire(l, ctx)
				if took := time.Since(began); took != time.Millisecond || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("after %v: %v", took, err)
				}
				links.Heal()
			})
		})
	}
}

// Locks are not reentrant: work under a lease that asks for the lock again gets an error at once, for as long as the lease is held.
func TestAcquire_UnderItsOwnLeaseIsAnError(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		other, _ := c.Locker()
		nothing := func(context.Context, *redlock.Lease) error { return nil }
		within, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		want.NoError(t, l.Do(within, "x", func(ctx context.Context, lease *redlock.Lease) error {
			_, acquired := l.Acquire(ctx, "x")
			_, tried := l.TryAcquire(lease.Context(), "x")
			nested := l.Do(ctx, "y", func(ctx context.Context, _ *redlock.Lease) error { return l.Do(ctx, "x", nothing) })
			for _, err := range []error{acquired, tried, nested} {
				want.Err(t, err, redlock.ErrHeld)
				want.Text(t, err, "held by this call", "locks are not reentrant")
			}
			_, unrelated := l.TryAcquire(t.Context(), "x")
			want.Text(t, unrelated, "this very process, for another")
			_, waited := other.Acquire(ctx, "x")
			want.Text(t, waited, "held by this call")
			_, elsewhere := other.TryAcquire(ctx, "x")
			want.Err(t, elsewhere, redlock.ErrHeld)
			if strings.Contains(elsewhere.Error(), "this very process") {
				t.Errorf("in another process: %v", elsewhere)
			}
			want.NoError(t, lease.Release(ctx))
			return l.Do(context.WithoutCancel(ctx), "x", nothing) // it is not held any more
		}))
		if took := time.Since(began); took > time.Second {
			t.Errorf("took %v", took)
		}
	})
}
