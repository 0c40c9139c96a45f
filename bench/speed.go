package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
)

const (
	speedRounds = 21 // many short rounds, so that a burst of other work spoils few
	stretch     = 100 * time.Millisecond
)

// speed measures locks that nobody else wants.
func (b *bench) speed(ctx context.Context) { b.race(ctx, 1, 16, 128) }

// awake measures them on cores that do not halt between two steps of a call.
func (b *bench) awake(ctx context.Context) {
	defer keepAwake(ctx)()
	b.race(ctx, 1)
}

// core measures them where client and nodes share a core: a call takes as long as all the work for it.
func (b *bench) core(ctx context.Context) { b.onOneCore(ctx, func() { b.race(ctx, 1) }) }

// race compares a Locker with redsync, for each number of goroutines.
func (b *bench) race(ctx context.Context, numbers ...int) {
	contestants := append(b.open(ctx, 1, openRedsync), b.lockers(ctx, 1)...)
	for _, goroutines := range numbers {
		medians, ratios := rounds(speedRounds, len(contestants), func(i int) sample {
			return b.pairs(ctx, contestants[i], goroutines)
		})
		for figure, unit := range []string{"p50 µs", "a second", "allocations", "KB"} {
			b.report.compare(fmt.Sprintf("goroutines: %d, %s", goroutines, unit),
				medians[1][figure], medians[0][figure], ratios[1][figure], "redsync")
		}
	}
}

// pairs makes goroutines acquire and release for a stretch, with a new name each time. It returns p50 in µs, operations
// a second, and allocations and allocated KB of an operation. Those are of the whole process, so that work in a peer's
// other goroutines counts too.
func (b *bench) pairs(ctx context.Context, p peer, goroutines int) sample {
	took := make([][]time.Duration, goroutines)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	check(each(goroutines, goroutines, func(i int) error {
		for time.Since(start) < stretch {
			began := time.Now()
			if err := acquireAndRelease(ctx, p, nextName()); err != nil {
				b.report.fail(err)
				continue
			}
			took[i] = append(took[i], time.Since(began))
		}
		return context.Cause(ctx)
	}))
	elapsed := time.Since(start)
	runtime.ReadMemStats(&after)
	all := slices.Concat(took...)
	if len(all) == 0 {
		check(errors.New("no operation succeeded"))
	}
	n := float64(len(all))
	p50 := float64(quantile(all, 50)) / float64(time.Microsecond)
	return sample{
		p50, n / elapsed.Seconds(), float64(after.Mallocs-before.Mallocs) / n,
		float64(after.TotalAlloc-before.TotalAlloc) / n / 1000,
	}
}
