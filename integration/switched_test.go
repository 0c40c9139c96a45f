//go:build unix

package integration_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/redlockfx/redlockfx/integration"
	"github.com/redlockfx/redlockfx/internal/retry"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/redlock"
)

// enough is the number of switches, and of leases in each, that make the test meaningful.
const enough = 20

var switchedFor = flag.Duration("lease.switched", 8*time.Second, "how long an address leads to changing servers")

// An address leads to A, and then to B, which also has an address of its own. If B had two votes, they would be one
// majority, while A and C are another one.
func TestLease_IsTheOnlyOneWhereTheServerBehindAConnectionChanges(t *testing.T) {
	t.Parallel()
	for _, s := range []*switching{{name: "between pipelines"}, {name: "within pipelines", within: true}} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.random = rand.New(rand.NewPCG(newSeed(t), 0))
			nodes := startNodes(t, leaseNodes)
			router, err := redisproc.NewRouter(s.route, nodes.Node(0), nodes.Node(1))
			must(t, err)
			closeAfter(t, router.Close)
			var reported complaints
			options := []redlock.Option{redlock.WithTTL(leaseTTL), redlock.WithNodeTimeout(leaseTTL / 4)}
			behind := trier{who: "behind the proxy", locker: lockerOn(t,
				clients(t, append([]string{router.Addr()}, nodes.Addrs()[1:]...)...), append(options, reported.option())...)}
			direct := trier{who: "direct", locker: lockerOn(t, clients(t, nodes.Addrs()...), options...)}

			least := func() int64 { return min(s.switches.Load(), behind.won.Load(), direct.won.Load()) }
			ctx, stop := context.WithTimeout(t.Context(), 10**switchedFor)
			defer stop()
			var tries sync.WaitGroup
			tries.Go(func() { // ends with ctx
				defer stop()
				for pause := *switchedFor; retry.Sleep(ctx, pause) == nil && least() < enough; {
					pause = *switchedFor / 8 // a busy machine takes longer
				}
			})
			var locks [10]tried // enough that calls share pipelines
			for i := range locks {
				for j, who := range []*trier{&behind, &direct} {
					random := rand.New(rand.NewPCG(uint64(i), uint64(j)))
					tries.Go(func() { who.try(ctx, fmt.Sprint("lock ", i), random, &locks[i]) }) // ends with ctx
				}
			}
			tries.Wait()

			t.Logf("%d switches, %d leases behind the proxy, %d direct", s.switches.Load(), behind.won.Load(), direct.won.Load())
			if least() < enough {
				t.Error("these are too few to show anything")
			}
			for i := range locks {
				locks[i].judge(t)
			}
			if !strings.Contains(strings.Join(reported.sorted(), "\n"), "guard: another run of the server") {
				t.Errorf("the hook did not tell that the server was another one: %q", reported.sorted())
			}
		})
	}
}

// switching is an address that leads to one of two servers, and sometimes switches to the other one.
type switching struct {
	name     string
	within   bool // the switch comes in the middle of a pipeline
	random   *rand.Rand
	at       int // of the two
	switches atomic.Int64
}

func (s *switching) route(n int) []int {
	first := -1 // command after the switch
	if s.within && n > 1 {
		first = 1 + s.random.IntN(n-1)
	} else if !s.within && s.random.IntN(20) == 0 {
		first = 0
	}
	to := make([]int, n)
	for i := range to {
		if i == first {
			s.at = 1 - s.at
			s.switches.Add(1)
		}
		to[i] = s.at
	}
	return to
}

// trier keeps taking locks.
type trier struct {
	who    string
	locker *redlock.Locker
	won    atomic.Int64
}

// try takes one lock again and again until ctx is done. It holds the lock for a while, and then releases it or lets it
// expire.
func (r *trier) try(ctx context.Context, name string, random *rand.Rand, h *tried) {
	upTo := func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d))) }
	for retry.Sleep(ctx, upTo(5*time.Millisecond)) == nil {
		began := shared.now()
		lease, err := r.locker.TryAcquire(ctx, name)
		if err != nil {
			continue
		}
		r.won.Add(1)
		h.add(r.who, acquired, began, lease)
		for random.IntN(3) > 0 {
			_ = retry.Sleep(context.Background(), upTo(leaseTTL/20))
			if began = shared.now(); !lease.Valid() {
				break
			}
			h.add(r.who, polled, began, lease)
			if began = shared.now(); random.IntN(2) > 0 && lease.Extend(context.Background()) == nil {
				h.add(r.who, extended, began, lease)
			}
		}
		if random.IntN(20) == 0 {
			lease.Abandon()
			continue
		}
		began = shared.now()
		h.add(r.who, releasing, began, lease)
		if lease.Release(context.Background()) == nil {
			h.add(r.who, released, began, lease)
		}
	}
}

// tried records the calls for one lock.
type tried struct {
	mu     sync.Mutex // guards the field below
	events []integration.Event
}

func (h *tried) add(who string, kind integration.Kind, began time.Duration, lease *redlock.Lease) {
	e := integration.Event{
		At: shared.now(), Replica: who, Kind: kind, Since: began, Token: lease.Token(), Deadline: shared.at(lease.Deadline()),
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

// judge fails the test unless a lock may have that history.
func (h *tried) judge(t *testing.T) {
	t.Helper()
	if got := porcupine.CheckOperationsTimeout(leaseModel, operations(h.events), waitLimit); got == porcupine.Ok {
		return
	}
	var lines strings.Builder
	for _, e := range h.events {
		fmt.Fprintf(&lines, "from %v to %v %s %s %d until %v\n", e.Since, e.At, e.Replica, e.Kind, e.Token, e.Deadline)
	}
	t.Errorf("no lock has this history:\n%s", &lines)
}
