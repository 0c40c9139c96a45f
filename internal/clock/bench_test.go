package clock_test

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
)

func BenchmarkNow(b *testing.B) {
	c := clock.New()
	b.ReportAllocs()
	for b.Loop() {
		c.Now()
	}
}

func BenchmarkAfterFuncStop(b *testing.B) {
	for name, others := range map[string]int{"alone": 0, "among 10000": 10_000} {
		b.Run(name, func(b *testing.B) {
			c := clock.New()
			for range others {
				defer c.AfterFunc(c.Now().Add(time.Hour), func() {}).Stop()
			}
			b.ReportAllocs()
			for b.Loop() {
				c.AfterFunc(c.Now().Add(time.Hour), func() {}).Stop()
			}
		})
	}
}

func BenchmarkReset(b *testing.B) {
	c := clock.New()
	t := c.AfterFunc(c.Now().Add(time.Hour), func() {})
	defer t.Stop()
	b.ReportAllocs()
	for b.Loop() {
		t.Reset(c.Now().Add(time.Hour))
	}
}

// The cost of sleep with many timers: all are reset, under the mutex.
func BenchmarkAdvance(b *testing.B) {
	c := clock.New()
	for range 10_000 {
		defer c.AfterFunc(c.Now().Add(time.Hour), func() {}).Stop()
	}
	b.ReportAllocs()
	for b.Loop() {
		c.Advance(1)
	}
}
