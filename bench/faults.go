package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

const (
	faultRounds = 5
	faultCalls  = 300 // in a round: as many with healthy nodes as with faulty ones
	slowBy      = 20 * time.Millisecond
)

// fault is something that happens to nodes.
type fault struct {
	what    string
	addrs   []string
	happen  func() error
	mend    func() error // nil: the fault lasts, so there is one round
	redsync bool         // compare with one call of redsync, which takes seconds
}

// faults measures the time to acquire, without the release, while nodes are faulty.
func (b *bench) faults(ctx context.Context) {
	if nodes < five {
		check(fmt.Errorf("it needs %d nodes", five))
	}
	first, second := b.cluster.Node(1), b.cluster.Node(3)
	proxy := must(first.Proxy())
	addrs := b.cluster.Addrs()
	slow := slices.Clone(addrs)
	slow[1] = proxy.Addr()
	delay := func(d time.Duration) func() error { return func() error { proxy.Delay(d); return nil } }
	both := func(do func(*redisproc.Node) error) func() error {
		return func() error { return errors.Join(do(first), do(second)) }
	}
	for _, f := range []fault{
		{"one node hung", addrs, first.Hang, first.Wake, true},
		{"one node 20 ms slow", slow, delay(slowBy / 2), delay(0), false}, // each way
		{"two nodes hung", addrs, both((*redisproc.Node).Hang), both((*redisproc.Node).Wake), false},
		{"one node dead", addrs, first.Kill, nil, true},
	} {
		b.endure(ctx, f)
	}
	b.report.figure("calls that failed", float64(b.report.failed))
}

// endure compares calls during the fault with those just before or after it.
func (b *bench) endure(ctx context.Context, f fault) {
	ours := b.open(ctx, 1, func([]string) peer { return openLocker(f.addrs) })[0]
	redsync := b.open(ctx, 1, openRedsync)[0]
	n := faultRounds
	if f.mend == nil {
		n = 1
	}
	var theirs float64
	medians, ratios := rounds(n, 2, func(contestant int) sample {
		if contestant == 0 {
			return b.p99(ctx, ours)
		}
		check(f.happen())
		s := b.p99(ctx, ours)
		if f.redsync && theirs == 0 {
			start := time.Now()
			_, _ = redsync.try(ctx, nextName()) // it may well fail
			theirs = ms(time.Since(start))
		}
		if f.mend != nil {
			check(f.mend())
			time.Sleep(settling) // meanwhile the nodes process what they were sent
		}
		return s
	})
	b.report.compare(f.what+", p99 ms", medians[1][0], medians[0][0], ratios[1][0], "healthy")
	b.report.figure(f.what+", goroutines more by the last third", medians[1][1])
	if f.redsync {
		b.report.compare(f.what+", p99 ms", medians[1][0], theirs, medians[1][0]/theirs, "one call of redsync")
	}
}

// p99 returns the p99 of acquiring, in ms, and how many more goroutines there were at most in the last third of the
// calls than in the first third. The time of a failed call counts too. A failed release counts as a failed call.
func (b *bench) p99(ctx context.Context, p peer) sample {
	var took []time.Duration
	var most [3]int // by third
	for i := range faultCalls {
		third := &most[i*len(most)/faultCalls]
		*third = max(*third, runtime.NumGoroutine())
		start := time.Now()
		h, err := p.try(ctx, nextName())
		took = append(took, time.Since(start))
		if err == nil {
			err = h.Release(ctx)
		}
		if err != nil {
			b.report.fail(err)
		}
	}
	return sample{ms(quantile(took, 99)), float64(most[len(most)-1] - most[0])}
}
