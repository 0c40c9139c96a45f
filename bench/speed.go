package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/redlock"
)

const (
	speedRounds    = 21 // many short ones, so that a burst of other work spoils few
	stretch        = 100 * time.Millisecond
	overheadRounds = 15
	overheadCalls  = 100
)

// speed measures locks that nobody else wants.
func (b *bench) speed(ctx context.Context) {
	contestants := append(b.open(ctx, 1, openRedsync), b.lockers(ctx, 1)...)
	for _, goroutines := range []int{1, 16, 128} {
		medians, ratios := rounds(speedRounds, len(contestants), func(i int) sample {
			return b.pairs(ctx, contestants[i], goroutines)
		})
		for figure, unit := range []string{"p50 µs", "a second", "allocations"} {
			b.report.compare(fmt.Sprintf("goroutines: %d, %s", goroutines, unit),
				medians[1][figure], medians[0][figure], ratios[1][figure], "redsync")
		}
	}
}

// pairs has goroutines acquire and release for a stretch, each time another name. It returns p50 in µs, operations a
// second and allocations of an operation. The allocations are the whole process's, so that work which a peer leaves to
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
			if err := acquireAndRelease(ctx, p); err != nil {
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
	return sample{p50, n / elapsed.Seconds(), float64(after.Mallocs-before.Mallocs) / n}
}

// bareAcquire is the least that a node has to do for a lock.
var bareAcquire = redis.NewScript(`return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0`)

// overhead measures the time that a node takes for its part of a grant and of a refusal.
func (b *bench) overhead(ctx context.Context) {
	lockers := b.lockers(ctx, 2)
	bare := func(name string) {
		for _, admin := range b.admins {
			check(bareAcquire.EvalSha(ctx, admin, []string{"bare:" + name}, name, ttl.Milliseconds()).Err())
		}
	}
	for _, admin := range b.admins {
		check(bareAcquire.Load(ctx, admin).Err())
	}
	medians, ratios := rounds(overheadRounds, 2, func(contestant int) sample {
		names := nextNames(overheadCalls)
		if contestant == 0 {
			return sample{b.scriptTime(ctx, names, bare), b.scriptTime(ctx, names, bare)}
		}
		var held []hold
		s := sample{b.scriptTime(ctx, names, func(name string) {
			held = append(held, must(lockers[0].wait(ctx, name)))
		}), b.scriptTime(ctx, names, func(name string) {
			if _, err := lockers[1].try(ctx, name); !errors.Is(err, redlock.ErrHeld) {
				b.report.fail(fmt.Errorf("not refused: %w", err))
			}
		})}
		for _, h := range held {
			check(h.Release(ctx))
		}
		return s
	})
	for figure, what := range []string{"a grant on a node, µs", "a refusal on a node, µs"} {
		b.report.compare(what, medians[1][figure], medians[0][figure], ratios[1][figure], "SET NX PX in a script")
	}
}

// scriptTime calls do for each name, and returns how many µs a node took for one script.
func (b *bench) scriptTime(ctx context.Context, names []string, do func(name string)) float64 {
	var calls, micros int
	add := func(sign int) {
		for _, done := range b.commands(ctx) {
			calls += sign * done["evalsha"].calls
			micros += sign * done["evalsha"].micros
		}
	}
	add(-1)
	for _, name := range names {
		do(name)
	}
	add(1)
	return float64(micros) / float64(calls)
}
