package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/retry"
)

func TestBackoff_StaysInItsRangeAndGrows(t *testing.T) {
	b := retry.Backoff{Min: 10 * time.Millisecond, Max: 300 * time.Millisecond}
	for n, top := range map[int]time.Duration{1: 20, 2: 40, 4: 160, 5: 300, 1000: 300} {
		longest, shortest := time.Duration(0), time.Hour
		for range 2000 {
			d := b.After(n)
			if d < b.Min || d > top*time.Millisecond {
				t.Fatalf("failure %d: %v", n, d)
			}
			longest, shortest = max(longest, d), min(shortest, d)
		}
		if longest < top*time.Millisecond*3/4 {
			t.Errorf("failure %d: never above %v", n, longest)
		}
		if shortest > b.Min+(top*time.Millisecond-b.Min)/4 {
			t.Errorf("failure %d: never below %v", n, shortest)
		}
	}
	if d := (retry.Backoff{Min: 5, Max: 5}).After(3); d != 5 {
		t.Errorf("a range of one value: %v", d)
	}
}

func TestSleep_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(100*time.Millisecond, func() { cancel(gone) })
		began := time.Now()
		if err := retry.Sleep(ctx, 99*time.Millisecond); err != nil || time.Since(began) != 99*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := retry.Sleep(ctx, time.Hour); !errors.Is(err, gone) || time.Since(began) != 100*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestPace_LetsAFewPassAndSpacesTheRest(t *testing.T) {
	p := retry.Pace{Burst: 2, Every: 10 * time.Millisecond}
	now := time.Now()
	const ms = time.Millisecond
	for i, want := range []time.Duration{0, 0, 10 * ms, 20 * ms} {
		if got := p.Next(now); got != want {
			t.Errorf("number %d waits %v, want %v", i, got, want)
		}
	}
	for _, step := range []struct{ later, want time.Duration }{{20 * ms, 10 * ms}, {10 * ms, 10 * ms}, {time.Hour, 0}, {0, 0}, {0, 10 * ms}} {
		now = now.Add(step.later)
		if got := p.Next(now); got != step.want {
			t.Errorf("%v later it waits %v, want %v", step.later, got, step.want)
		}
	}
	now = now.Add(time.Hour)
	for i, want := range []bool{true, true, false, false} {
		if got := p.Allow(now); got != want {
			t.Errorf("number %d is allowed: %v", i, got)
		}
	}
	if !p.Allow(now.Add(10*ms)) || p.Allow(now.Add(10*ms)) {
		t.Error("a refused event was counted, or an allowed one was not")
	}
}
