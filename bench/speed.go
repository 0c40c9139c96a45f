package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/redlock"
)

const (
	speedRounds    = 21 // many short rounds, so that a burst of other work spoils few
	stretch        = 100 * time.Millisecond
	overheadRounds = 15
	overheadCalls  = 100
	loadedCalls    = 1280 // by all loaders together
	loaders        = 128
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

// pairs makes goroutines acquire and release for a stretch, with a new name each time. It returns p50 in µs, operations
// a second and allocations of an operation. The allocations are those of the whole process, so that work in a peer's
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
	return sample{p50, n / elapsed.Seconds(), float64(after.Mallocs-before.Mallocs) / n}
}

// bareAcquire is the least that a node has to do for a lock. Like a lock, it is sent to all nodes at once, because they
// share the cores.
var bareAcquire = redis.NewScript(`return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0`)

// overhead measures the time that a node takes for its part of a grant and of a refusal.
func (b *bench) overhead(ctx context.Context) {
	lockers := b.lockers(ctx, 2)
	bare := func(name string) error {
		return each(nodes, nodes, func(i int) error {
			return bareAcquire.EvalSha(ctx, b.admins[i], []string{"bare:" + name}, name, ttl.Milliseconds()).Err()
		})
	}
	for _, admin := range b.admins {
		check(bareAcquire.Load(ctx, admin).Err())
	}
	medians, ratios := rounds(overheadRounds, 2, func(contestant int) sample {
		if contestant == 0 {
			return b.overheadOf(ctx, bare, bare)
		}
		var mu sync.Mutex
		var held []hold
		s := b.overheadOf(ctx, func(name string) error {
			h, err := lockers[0].wait(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			held = append(held, h)
			return err
		}, func(name string) error {
			if _, err := lockers[1].try(ctx, name); !errors.Is(err, redlock.ErrHeld) {
				b.report.fail(fmt.Errorf("not refused: %w", err))
			}
			return nil
		})
		check(each(len(held), loaders, func(i int) error { return held[i].Release(ctx) }))
		time.Sleep(settling) // meanwhile the nodes answer all requests
		return s
	})
	for figure, what := range []string{"a grant on a node, µs", "a refusal on a node, µs", "a grant under load, µs"} {
		b.report.compare(what, medians[1][figure], medians[0][figure], ratios[1][figure], "SET NX PX in a script")
	}
}

// overheadOf returns how many µs a node takes for a grant and for a refusal, one after the other, and for a grant while
// many take locks at once. Under that load, one script may grant several locks.
func (b *bench) overheadOf(ctx context.Context, grant, refuse func(name string) error) sample {
	names := nextNames(overheadCalls)
	oneByOne := func(do func(name string) error) float64 {
		calls, micros := b.scriptsDuring(ctx, func() {
			check(each(len(names), 1, func(i int) error { return do(names[i]) }))
		})
		return float64(micros) / float64(calls)
	}
	granted, refused := oneByOne(grant), oneByOne(refuse)
	more := nextNames(loadedCalls)
	_, micros := b.scriptsDuring(ctx, func() {
		check(each(len(more), loaders, func(i int) error { return grant(more[i]) }))
		time.Sleep(settling) // meanwhile the slowest node answers all requests
	})
	return sample{granted, refused, float64(micros) / float64(nodes*len(more))}
}

// scriptsDuring returns how many scripts all nodes together ran during fn, and for how many µs.
func (b *bench) scriptsDuring(ctx context.Context, fn func()) (calls, micros int) {
	add := func(sign int) {
		for _, done := range b.commands(ctx) {
			calls += sign * done["evalsha"].calls
			micros += sign * done["evalsha"].micros
		}
	}
	add(-1)
	fn()
	add(1)
	return calls, micros
}
