package redlock_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
)

// A subscription that is being set up with a node that takes connections and says nothing cannot be called
// off: it ends by the node timeout, and with it Close. In real time, since whoever closes it meanwhile waits
// for a mutex of go-redis, and a bubble's time stands still for that.
func TestClose_BesideASubscriptionToAHungNode(t *testing.T) {
	const nodeTimeout = 100 * time.Millisecond
	nodes := redlocktest.New(t, 3, redlock.WithTTL(5*time.Second), redlock.WithNodeTimeout(nodeTimeout))
	if _, err := nodes.Process().Locker().Acquire(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	process := nodes.Process()
	l := process.Locker()
	process.Hang(l.Order("x")[0]) // to which it listens
	var waiting sync.WaitGroup
	waiting.Go(func() { _, _ = l.Acquire(t.Context(), "x") })
	time.Sleep(5 * nodeTimeout)
	ctx, cancel := context.WithTimeout(t.Context(), 2*nodeTimeout)
	defer cancel()
	err := l.Close(ctx)                                                      // of the records that it cannot remove from that node
	if err == nil || strings.Contains(err.Error(), "cannot be called off") { // go-redis would wait for seconds
		t.Error(err)
	}
	waiting.Wait()
}
