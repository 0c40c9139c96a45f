package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlockfx/redlockfx/internal/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
)

// step is one moment of a random schedule of faults.
type step struct {
	after time.Duration
	what  string
	who   int   // process
	nodes []int // that the fault concerns
	long  time.Duration
}

func (s step) String() string {
	return fmt.Sprintf("after %v %s process %d nodes %v (%v)", s.after, s.what, s.who, s.nodes, s.long)
}

func drawSchedule(t *rapid.T, processes, nodes int) []step {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{
			after: time.Duration(rapid.IntRange(0, 1000).Draw(t, "after")) * time.Millisecond,
			what: rapid.SampledFrom([]string{
				"cut", "hang", "delay", "lose replies of", "heal", "kill", "restart",
			}).Draw(t, "what"),
			who:   rapid.IntRange(0, processes-1).Draw(t, "who"),
			nodes: rapid.SliceOfNDistinct(rapid.IntRange(0, nodes-1), 1, nodes, rapid.ID).Draw(t, "nodes"),
			long:  time.Duration(rapid.IntRange(1, 40).Draw(t, "long")) * time.Millisecond,
		}
	}), 5, 15).Draw(t, "schedule")
}

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
func TestSchedules_LeasesNeverOverlap(t *testing.T) {
	const processes, nodes = 3, 3
	total := 0
	rapid.Check(t, func(rt *rapid.T) {
		schedule := drawSchedule(rt, processes, nodes)
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
			for _, s := range schedule {
				time.Sleep(s.after)
				play(c, links[s.who], s)
			}
			for i := range nodes {
				c.Restart(i)
			}
			c.Heal()
			cancel()
			contenders.Wait()
			time.Sleep(2 * time.Second)
			if got := c.keys("x"); got != 0 {
				t.Errorf("%d keys are left", got)
			}
			total += b.won
			if t.Failed() {
				lines := make([]string, len(schedule))
				for i, s := range schedule {
					lines[i] = s.String()
				}
				t.Logf("schedule:\n%s", strings.Join(lines, "\n"))
			}
		})
		if t.Failed() {
			rt.Fatal("see above")
		}
	})
	if total < 100 {
		t.Errorf("only %d leases were won: the schedules show nothing", total)
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

func play(c *cluster, links *nodetest.Links, s step) {
	switch s.what {
	case "cut":
		links.Cut(s.nodes...)
	case "hang":
		links.Hang(s.nodes...)
	case "delay":
		links.Delay(s.long, s.nodes...)
	case "lose replies of":
		links.DropReplies(s.nodes...)
	case "heal":
		links.Heal()
	case "kill":
		c.Kill(s.nodes[0])
	case "restart":
		c.Restart(s.nodes[0])
	}
}
