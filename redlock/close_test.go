package redlock_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
)

// A subscription attempt with a node that accepts connections and says nothing cannot be canceled. It ends after the
// node timeout, and Close with it. The test runs in real time, because a concurrent close waits for a mutex of
// go-redis, and a bubble's time stands still meanwhile.
func TestClose_BesideASubscriptionToAHungNode(t *testing.T) {
	const nodeTimeout = 100 * time.Millisecond
	nodes := redlocktest.New(t, 3, redlock.WithTTL(5*time.Second), redlock.WithNodeTimeout(nodeTimeout))
	if _, err := nodes.Process().Locker().Acquire(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	process := nodes.Process()
	l := process.Locker()
	process.Hang(l.Order("x")[0]) // to which it subscribes
	var waiting sync.WaitGroup
	waiting.Go(func() { _, _ = l.Acquire(t.Context(), "x") })
	time.Sleep(5 * nodeTimeout)
	ctx, cancel := context.WithTimeout(t.Context(), 2*nodeTimeout)
	defer cancel()
	if err := l.Close(ctx); err != nil { // the attempt was never sent to that node, so no record may be left there
		t.Error(err)
	}
	waiting.Wait()
}

// A release that all nodes have carried out leaves nothing. That more of those in line could be told of it is no reason
// to wait for a node.
func TestClose_DoesNotWaitForAHint(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		holder, links := c.Locker()
		lease := takenOnAll(t, holder, "x")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var begin []func()
		for range 5 {
			begin = append(begin, newWaiter(c).begins(ctx, "x"))
		}
		listed(t, c, "x", begin...)
		want.NoError(t, lease.Release(t.Context()))
		synctest.Wait()
		links.Hang(holder.Order("x")[0])
		began := time.Now()
		want.NoError(t, holder.Close(t.Context()))
		if took := time.Since(began); took > 3*nodeTimeout {
			t.Errorf("Close took %v", took)
		}
	})
}
