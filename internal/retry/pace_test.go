package retry_test

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/retry"
)

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
