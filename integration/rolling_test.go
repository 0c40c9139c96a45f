//go:build unix

package integration_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// rolling is a service of three replicas, and what was seen of it.
type rolling struct {
	mu       sync.Mutex // guards the fields below
	leading  int
	overlaps int
	ticks    map[time.Time]int
	since    time.Time     // nobody leads
	longest  time.Duration // without a leader
}

// lead counts a leader until its context is done.
func (r *rolling) lead(ctx context.Context) {
	r.mu.Lock()
	if r.leading++; r.leading > 1 {
		r.overlaps++
	}
	if !r.since.IsZero() {
		r.longest = max(r.longest, time.Since(r.since))
	}
	r.mu.Unlock()
	<-ctx.Done()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leading--
	r.since = time.Now()
}

func (r *rolling) run(_ context.Context, run scheduler.Run) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ticks[run.Tick]++
	return nil
}

func (r *rolling) ran() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ticks)
}

// start starts a replica.
func (r *rolling) start(t *testing.T, addrs []string) grower {
	t.Helper()
	l, err := redlock.Open(addrs, redlock.WithTTL(grownTTL), redlock.WithNodeTimeout(grownTTL/6))
	must(t, err)
	e, err := election.New(l, "billing", election.OnLeader(r.lead))
	must(t, err)
	s, err := scheduler.New(e)
	must(t, err)
	must(t, s.Add(scheduler.Job{Name: "report", Spec: "* * * * * *", Run: r.run}))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }() // ends with stop, which waits for it
	return grower{l, s, func() {
		cancel()
		must(t, <-ended)
		must(t, l.Close(context.Background()))
	}}
}

// A rolling deploy changes the list of nodes of three replicas, or a node is replaced or loses its data. No two replicas lead at a time, no
// tick runs twice, and the jobs run again without anybody's help, unless all but one node are taken away.
func TestGrowing_ByARollingDeploy(t *testing.T) {
	for name, of := range map[string]struct {
		before, after []int
		lost          int // node that loses its data between; 0: none
		person        bool
	}{
		"from one to three":        {before: []int{0}, after: []int{0, 1, 2}},
		"from three to five":       {before: []int{0, 1, 2}, after: []int{0, 1, 2, 3, 4}},
		"from five to three":       {before: []int{0, 1, 2, 3, 4}, after: []int{0, 1, 2}},
		"from three to one":        {before: []int{0, 1, 2}, after: []int{0}, person: true},
		"a node is replaced":       {before: []int{0, 1, 2}, after: []int{0, 1, 3}},
		"a node has lost its data": {before: []int{0, 1, 2}, after: []int{0, 1, 2}, lost: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := startServers(t, 5, persist...)
			addrs := func(list []int) (some []string) {
				for _, i := range list {
					some = append(some, nodes.Addrs()[i])
				}
				return some
			}
			r := &rolling{ticks: make(map[time.Time]int)}
			var replicas []grower
			for range 3 {
				replicas = append(replicas, r.start(t, addrs(of.before)))
			}
			poll(t, "runs of the old list", func() bool { return r.ran() > 2 })
			if of.lost > 0 {
				raw := redis.NewClient(&redis.Options{Addr: nodes.Addrs()[of.lost]})
				must(t, raw.FlushAll(t.Context()).Err())
				must(t, raw.Close())
				poll(t, "the node in the list again", func() bool {
					n := replicas[0].locker.Nodes(t.Context())[of.lost]
					return n.List.State == redlock.ListJoined && n.Guard == 0
				})
			}
			for i := range replicas {
				replicas[i].stop()
				replicas[i] = r.start(t, addrs(of.after))
			}
			if of.person {
				<-time.After(2 * grownTTL)
				must(t, inside.Of(replicas[0].locker).JoinNodes(t.Context())[0])
			}
			before := r.ran()
			poll(t, "runs of the new list", func() bool { return r.ran() > before+2 })
			for _, g := range replicas {
				g.stop()
			}
			for tick, n := range r.ticks {
				if n > 1 {
					t.Errorf("tick %v ran %d times", tick, n)
				}
			}
			if r.overlaps > 0 {
				t.Errorf("%d times two led", r.overlaps)
			}
			t.Logf("overlaps %d, %d ticks, longest time without a leader %v", r.overlaps, len(r.ticks), r.longest.Round(10*time.Millisecond))
		})
	}
}
