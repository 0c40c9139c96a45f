package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	stretch = 100 * time.Millisecond // of one peer's part of a round
	room    = 1024                   // operations of one goroutine in a stretch
)

// sample is one peer's part of a round, a race's medians, or a ratio of two.
type sample struct{ p50, ns, allocs, bytes float64 } // an operation; ns by the wall, of all goroutines

func (s sample) perSecond() float64 { return 1e9 / s.ns }

// race is the outcome of several rounds.
type race struct{ ours, beside, ratio sample }

// load does operations on p for a stretch.
type load func(ctx context.Context, p peer) (sample, failures, error)

// race lets both peers take turns, the first of a round being the second of the next, so that what
// disturbs the machine hits both. The ratio is the median of the rounds' ratios.
func (b *bench) race(
	ctx context.Context, ours, beside peer, rounds int, do load,
) (race, error) {
	var samples [2][]sample
	var ratios []sample
	var failed failures
	for round := range rounds {
		turns := []int{0, 1}
		if round%2 == 1 {
			slices.Reverse(turns)
		}
		for _, i := range turns {
			one, f, err := do(ctx, []peer{ours, beside}[i])
			if err != nil {
				return race{}, err
			}
			samples[i] = append(samples[i], one)
			failed.join(f)
		}
		ratios = append(ratios, samples[0][round].over(samples[1][round]))
	}
	b.report.failures(failed)
	return race{medians(samples[0]), medians(samples[1]), medians(ratios)}, nil
}

// pairs has n goroutines acquire and release distinct names.
func pairs(n int) load {
	return func(ctx context.Context, p peer) (sample, failures, error) {
		m := newMeter(n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				for ctx.Err() == nil && time.Since(m.start) < stretch {
					m.time(i, func() error { return acquireAndRelease(ctx, p) })
				}
			})
		}
		wg.Wait()
		return m.stop()
	}
}

// extend has one goroutine extend one lock.
func extend(ctx context.Context, p peer) (sample, failures, error) {
	h, err := p.acquire(ctx, nextName())
	if err != nil {
		return sample{}, failures{}, err
	}
	m := newMeter(1)
	for ctx.Err() == nil && time.Since(m.start) < stretch {
		m.time(0, func() error { return h.Extend(ctx) })
	}
	s, failed, err := m.stop()
	return s, failed, errors.Join(err, h.Release(ctx))
}

// meter measures one stretch. What is allocated is the whole process's, so that work which a peer
// leaves to other goroutines counts too.
type meter struct {
	before runtime.MemStats
	start  time.Time
	took   [][]time.Duration // by goroutine, with room for all, so that appending allocates nothing
	failed []failures        // by goroutine
}

func newMeter(goroutines int) *meter {
	m := &meter{took: make([][]time.Duration, goroutines), failed: make([]failures, goroutines)}
	for i := range m.took {
		m.took[i] = make([]time.Duration, 0, room)
	}
	runtime.GC()
	runtime.ReadMemStats(&m.before)
	m.start = time.Now()
	return m
}

// time does one operation; one that fails is not counted, but the time it took is.
func (m *meter) time(goroutine int, do func() error) {
	start := time.Now()
	if err := do(); err != nil {
		m.failed[goroutine].add(err)
		return
	}
	m.took[goroutine] = append(m.took[goroutine], time.Since(start))
}

func (m *meter) stop() (s sample, failed failures, err error) {
	elapsed := time.Since(m.start)
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	for _, f := range m.failed {
		failed.join(f)
	}
	took := slices.Concat(m.took...)
	if len(took) == 0 {
		return s, failed, fmt.Errorf("no operation of %d succeeded: %w", failed.n, failed.last)
	}
	n := float64(len(took))
	return sample{
		p50:    float64(median(took)),
		ns:     float64(elapsed) / n,
		allocs: float64(after.Mallocs-m.before.Mallocs) / n,
		bytes:  float64(after.TotalAlloc-m.before.TotalAlloc) / n,
	}, failed, nil
}

func (s sample) over(t sample) sample {
	return sample{s.p50 / t.p50, s.ns / t.ns, s.allocs / t.allocs, s.bytes / t.bytes}
}

func medians(samples []sample) sample {
	of := func(field func(sample) float64) float64 {
		var values []float64
		for _, s := range samples {
			values = append(values, field(s))
		}
		return median(values)
	}
	return sample{
		p50:    of(func(s sample) float64 { return s.p50 }),
		ns:     of(func(s sample) float64 { return s.ns }),
		allocs: of(func(s sample) float64 { return s.allocs }),
		bytes:  of(func(s sample) float64 { return s.bytes }),
	}
}
