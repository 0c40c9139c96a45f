package redlock_test

import (
	"context"
	"sync"
	"testing"
	"time"

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
