package main

import (
	"context"
	"fmt"
)

const speedRounds = 21 // many short ones, so that a burst of other work spoils few

// speed is of locks that nobody else wants.
func (b *bench) speed(ctx context.Context) error {
	return withSides(ctx, b.cluster.Addrs(), func(s sides) error {
		one, err := b.race(ctx, s.ours, s.redsync, speedRounds, pairs(1))
		if err != nil {
			return err
		}
		b.report.operation("acquire+release, 1 goroutine", one, "redsync")
		b.report.atMost("1 goroutine, p50, times redsync's", one.ratio.p50, 0.9)
		b.report.atMost(fmt.Sprintf("allocations of an acquire+release (redsync: %s)",
			format(one.beside.allocs)), one.ours.allocs, one.beside.allocs)

		for _, many := range []struct {
			goroutines int
			atLeast    float64 // times redsync's operations
		}{{16, 1.5}, {128, 2}} {
			r, err := b.race(ctx, s.ours, s.redsync, speedRounds, pairs(many.goroutines))
			if err != nil {
				return err
			}
			what := fmt.Sprintf("%d goroutines", many.goroutines)
			b.report.throughput("acquire+release, "+what, r, "redsync")
			b.report.atLeast(what+", operations a second, times redsync's", 1/r.ratio.ns, many.atLeast)
		}

		r, err := b.race(ctx, s.ours, s.redsync, speedRounds, extend)
		if err != nil {
			return err
		}
		b.report.operation("extend", r, "redsync")
		return nil
	})
}

func (r *report) operation(what string, of race, beside string) {
	r.compare(what, "p50 µs", of.ours.p50/1000, of.beside.p50/1000, of.ratio.p50, beside)
	r.compare("", "allocs", of.ours.allocs, of.beside.allocs, of.ratio.allocs, beside)
	r.compare("", "bytes", of.ours.bytes, of.beside.bytes, of.ratio.bytes, beside)
}

func (r *report) throughput(what string, of race, beside string) {
	r.compare(what, "a second", of.ours.perSecond(), of.beside.perSecond(), 1/of.ratio.ns, beside)
}
