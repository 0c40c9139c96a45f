//go:build unix

package integration_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/replay"
)

// witness checks what real nodes do, and what processes conclude from it.
type witness struct {
	*replay.Checker
	stop context.CancelFunc
	all  sync.WaitGroup // a goroutine for each node
}

// watchNodes returns when the checker sees what the nodes do.
func watchNodes(t *testing.T, nodes *redisproc.Cluster, longest time.Duration) *witness {
	t.Helper()
	addrs := nodes.Addrs()
	ctx, stop := context.WithCancel(context.Background())
	w := &witness{Checker: replay.New(records.Default.Hash(), len(addrs), longest), stop: stop}
	var ready sync.WaitGroup
	for i, addr := range addrs {
		ready.Add(1)
		w.all.Go(func() { // ends with ctx; end waits for it
			if err := w.Monitor(ctx, i, addr, ready.Done); err != nil {
				t.Error(err)
			}
		})
	}
	ready.Wait()
	return w
}

// end lets conclude tell the checker what processes have concluded, when it has seen all steps.
func (w *witness) end(t *testing.T, conclude func()) {
	t.Helper()
	w.stop()
	w.all.Wait()
	conclude()
	if err := w.Err(); err != nil {
		t.Errorf("the specification does not allow it: %v", err)
	}
	rules := make(map[replay.Rule]int)
	t.Logf("replayed: %d steps; by rule:%s", w.AddTo(rules), replay.Counts(rules))
}
