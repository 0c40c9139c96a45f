package redlock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlockfx/redlockfx/internal/faultplan"
	"github.com/redlockfx/redlockfx/internal/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
)

// ledger is what all processes together believe.
type ledger struct {
	t *testing.T

	mu    sync.Mutex // guards the fields below
	held  map[*redlock.Lease]bool
	token uint64
	won   int
}

func (b *ledger) take(lease *redlock.Lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for other := range b.held {
		if other.Valid() && lease.Valid() {
			b.t.Errorf("token %d and token %d are valid at once", other.Token(), lease.Token())
		}
	}
	if lease.Token() <= b.token {
		b.t.Errorf("token %d after %d", lease.Token(), b.token)
	}
	b.held[lease], b.token = true, lease.Token()
	b.won++
}

func (b *ledger) drop(lease *redlock.Lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.held, lease)
}

// Whatever happens to the network and to nodes that keep their data: leases never overlap, tokens
// increase, and when all is well again nothing of a finished hold is left.
func TestPlans_LeasesNeverOverlap(t *testing.T) {
	const processes, nodes = 3, 3
	plans, won := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		plan := faultplan.Draw(rt, processes, nodes, time.Second, 40*time.Millisecond)
		bubble(t, nodes, func(t *testing.T, c *cluster) {
			b := &ledger{t: t, held: make(map[*redlock.Lease]bool)}
			ctx, cancel := context.WithCancel(t.Context())
			var contenders sync.WaitGroup
			var links []*nodetest.Links
			for i := range processes {
				l, link := c.locker(redlock.WithTTL(time.Second), redlock.WithNodeTimeout(50*time.Millisecond))
				links = append(links, link)
				contenders.Go(func() { contend(ctx, l, b, i) })
			}
			for _, step := range plan {
				time.Sleep(step.After)
				step.Play(c.Cluster, links[step.Who])
			}
			faultplan.End(c.Cluster)
			cancel()
			contenders.Wait()
			time.Sleep(2 * time.Second)
			if got := c.keys("x"); got != 0 {
				t.Errorf("%d keys are left", got)
			}
			plans, won = plans+1, won+b.won
			if t.Failed() {
				t.Logf("plan:\n%v", plan)
			}
		})
		if t.Failed() {
			rt.Fatal("see above")
		}
	})
	if won < plans {
		t.Errorf("%d leases were won in %d plans: they show nothing", won, plans)
	}
}

// contend takes the lock again and again, and gives it up in every way there is.
func contend(ctx context.Context, l *redlock.Locker, b *ledger, process int) {
	for n := process; ctx.Err() == nil; n++ {
		var opts []redlock.AcquireOption
		if n%2 == 0 {
			opts = append(opts, redlock.WithAutoExtend(redlock.Extension{Max: 3}))
		}
		lease, err := l.Acquire(ctx, "x", opts...)
		if err != nil {
			continue
		}
		b.take(lease)
		select {
		case <-lease.Context().Done():
		case <-time.After(time.Duration(n%5) * 100 * time.Millisecond):
		}
		b.drop(lease)
		if n%7 == 3 {
			lease.Abandon()
		} else {
			_ = lease.Release(ctx) // it may be lost, and that is no concern of this process
		}
	}
}
