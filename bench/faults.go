package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

const (
	faultRounds = 5
	faultCalls  = 300 // of a half of a round
	lateBy      = 20 * time.Millisecond
)

// fault is something that happens to nodes.
type fault struct {
	what    string
	addrs   []string
	happen  func() error
	mend    func() error // nil: it lasts, so there is one round, too few for a requirement
	redsync bool         // has one call beside it, which takes seconds
}

// faults is of acquiring, not of releasing, while nodes are faulty.
func (b *bench) faults(ctx context.Context) error {
	first, second := b.cluster.Node(1), b.cluster.Node(3)
	proxy, err := first.Proxy()
	if err != nil {
		return err
	}
	addrs := b.cluster.Addrs()
	slow := slices.Clone(addrs)
	slow[1] = proxy.Addr()
	both := func(do func(*redisproc.Node) error) func() error {
		return func() error { return errors.Join(do(first), do(second)) }
	}
	var failed failures
	for _, f := range []fault{
		{"one node hung", addrs, first.Hang, first.Wake, true},
		{"one node 20 ms slow", slow, later(proxy, lateBy/2), later(proxy, 0), false}, // each way
		{"two nodes hung", addrs, both((*redisproc.Node).Hang), both((*redisproc.Node).Wake), false},
		{"one node dead", addrs, first.Kill, nil, true},
	} {
		err := withSides(ctx, f.addrs, func(s sides) error {
			return b.endure(ctx, s, f, &failed)
		})
		if err != nil {
			return err
		}
	}
	b.report.failures(failed)
	b.report.atMost("acquires and releases that failed with a minority faulty", float64(failed.n), 0)
	return nil
}

func later(p *redisproc.Proxy, d time.Duration) func() error {
	return func() error { p.Delay(d); return nil }
}

// endure compares the calls during the fault with those just before it.
func (b *bench) endure(ctx context.Context, s sides, f fault, failed *failures) error {
	var well, ill, ratios []float64
	var theirs time.Duration
	for round := range faultRounds {
		healthy, before := acquires(ctx, s.ours, faultCalls)
		if err := f.happen(); err != nil {
			return err
		}
		faulty, during := acquires(ctx, s.ours, faultCalls)
		failed.join(before)
		failed.join(during)
		well = append(well, ms(quantile(healthy, 99)))
		ill = append(ill, ms(quantile(faulty, 99)))
		ratios = append(ratios, ill[round]/well[round])
		if round == 0 && f.redsync {
			start := time.Now()
			_, _ = s.redsync.acquire(ctx, nextName()) // it may well fail
			theirs = time.Since(start)
		}
		if f.mend == nil {
			break
		}
		if err := f.mend(); err != nil {
			return err
		}
		time.Sleep(settling) // what the faulty nodes were owed is removed
	}

	b.report.compare("acquire, "+f.what, "p99 ms", median(ill), median(well), median(ratios), "healthy")
	if theirs > 0 {
		b.report.compare("", "p99 ms", median(ill), ms(theirs), median(ill)/ms(theirs),
			"one call of redsync")
	}
	if f.mend != nil {
		b.report.atMost("acquire with "+f.what+", p99, times the healthy one", median(ratios), 3)
	}
	return nil
}

// acquires is how long acquiring took, whether it failed or not. Failing to release counts too.
func acquires(ctx context.Context, p peer, calls int) (took []time.Duration, failed failures) {
	for range calls {
		start := time.Now()
		h, err := p.acquire(ctx, nextName())
		took = append(took, time.Since(start))
		if err == nil {
			err = h.Release(ctx)
		}
		failed.add(err)
	}
	return took, failed
}
