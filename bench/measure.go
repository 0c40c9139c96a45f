package main

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	workers = 16                     // goroutines of the second row
	rounds  = 41                     // many short ones, so that a burst of other work spoils few
	stretch = 100 * time.Millisecond // of one peer's part of a round

	oursCalls    = 2000 // with a faulty node
	redsyncCalls = 3    // with a faulty node: each may take seconds
)

// sample is one peer's part of a round, a race's medians, or a ratio of two.
type sample struct{ ns, allocs, bytes float64 } // an operation

// race is the outcome of several rounds.
type race struct{ ours, redsync, ratio sample }

// load does operations on p until the deadline and returns how many, and how long they took.
type load func(ctx context.Context, p peer) (ops int, took time.Duration, err error)

// race lets both peers take turns, the first of a round being the second of the next, so that what
// disturbs the machine hits both. The ratio is the median of the rounds' ratios.
func (s sides) race(ctx context.Context, do load) (race, error) {
	var ours, redsync, ratios []sample
	for round := range rounds {
		turns := []struct {
			peer    peer
			samples *[]sample
		}{{s.ours, &ours}, {s.redsync, &redsync}}
		if round%2 == 1 {
			slices.Reverse(turns)
		}
		for _, t := range turns {
			one, err := take(ctx, t.peer, do)
			if err != nil {
				return race{}, err
			}
			*t.samples = append(*t.samples, one)
		}
		ratios = append(ratios, ours[round].over(redsync[round]))
	}
	return race{medians(ours), medians(redsync), medians(ratios)}, nil
}

// take measures one stretch. What is allocated is the whole process's, so that work which a peer
// leaves to other goroutines counts too.
func take(ctx context.Context, p peer, do load) (sample, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	ops, took, err := do(ctx, p)
	runtime.ReadMemStats(&after)
	n := float64(ops)
	return sample{
		ns:     float64(took) / n,
		allocs: float64(after.Mallocs-before.Mallocs) / n,
		bytes:  float64(after.TotalAlloc-before.TotalAlloc) / n,
	}, err
}

// acquireRelease has n goroutines acquire and release distinct names.
func acquireRelease(n int) load {
	return func(ctx context.Context, p peer) (int, time.Duration, error) {
		var ops atomic.Int64
		var wg sync.WaitGroup
		errs := make([]error, n)
		start := time.Now()
		for i := range n {
			wg.Go(func() {
				for errs[i] == nil && time.Since(start) < stretch {
					errs[i] = acquireAndRelease(ctx, p)
					ops.Add(1)
				}
			})
		}
		wg.Wait()
		return int(ops.Load()), time.Since(start), errors.Join(errs...)
	}
}

// extend has one goroutine extend one lock.
func extend(ctx context.Context, p peer) (ops int, took time.Duration, err error) {
	h, err := p.acquire(ctx, nextName())
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	for took < stretch && err == nil {
		err = h.Extend(ctx)
		took = time.Since(start)
		ops++
	}
	return ops, took, errors.Join(err, h.Release(ctx))
}

// trial is how a peer's calls fared with a faulty node.
type trial struct {
	calls, failed int
	p50, p99, max time.Duration // of an acquire and a release together
}

type trials struct{ ours, redsync trial }

func (s sides) endure(ctx context.Context) trials {
	return trials{try(ctx, s.ours, oursCalls), try(ctx, s.redsync, redsyncCalls)}
}

func try(ctx context.Context, p peer, calls int) trial {
	t := trial{calls: calls}
	took := make([]time.Duration, calls)
	for i := range took {
		start := time.Now()
		if acquireAndRelease(ctx, p) != nil {
			t.failed++
		}
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	t.p50, t.p99, t.max = took[calls/2], took[calls*99/100], took[calls-1]
	return t
}

func (s sample) over(t sample) sample {
	return sample{s.ns / t.ns, s.allocs / t.allocs, s.bytes / t.bytes}
}

func medians(samples []sample) sample {
	median := func(of func(sample) float64) float64 {
		var values []float64
		for _, s := range samples {
			values = append(values, of(s))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return sample{
		ns:     median(func(s sample) float64 { return s.ns }),
		allocs: median(func(s sample) float64 { return s.allocs }),
		bytes:  median(func(s sample) float64 { return s.bytes }),
	}
}

// names are made before they are needed, so that making them is not measured. Once all were used
// they come again, long after their release.
var (
	names    = makeNames(1 << 16)
	nameUsed atomic.Uint64
)

func makeNames(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = "bench-" + strconv.Itoa(i)
	}
	return list
}

func nextName() string { return names[nameUsed.Add(1)%uint64(len(names))] }
