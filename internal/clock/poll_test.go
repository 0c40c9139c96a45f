package clock_test

import (
	"runtime/metrics"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
)

// goroutines returns the number of goroutines started while bubble time advances by d.
func goroutines(d time.Duration) int {
	sample := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	time.Sleep(d)
	metrics.Read(sample)
	return int(sample[0].Value.Uint64() - before)
}

func TestLook_IsOneForAllTimersAndNoneWithoutThem(t *testing.T) {
	const polls = int(time.Minute / pollInterval)
	const others = polls / 10 // goroutines of the runtime and of the tests
	synctest.Test(t, func(t *testing.T) {
		c := clock.New()
		is := func(when string, want int) {
			t.Helper()
			if got := goroutines(time.Minute); got < want-1 || got > want+others {
				t.Errorf("%s: %d goroutines in a minute, want %d polls", when, got, want)
			}
		}
		is("new", 0)
		timers := make([]*clock.Timer, 1000)
		for i := range timers {
			timers[i] = c.AfterFunc(c.Now().Add(150*time.Second), func() {})
		}
		is("a thousand timers", polls)
		for _, timer := range timers[1:] {
			timer.Stop()
		}
		is("one is left", polls)
		timers[0].Stop()
		is("all stopped", 0)
		timers[0].Reset(c.Now().Add(time.Second))
		time.Sleep(time.Second)
		synctest.Wait()
		is("the last one fired", 0)
		c.Advance(time.Hour)
		is("advanced", 0)
		for range 1000 {
			timers[0].Reset(c.Now().Add(time.Hour))
			timers[0].Stop()
			timers[0].Reset(c.Now().Add(time.Hour))
		}
		is("armed again and again", polls)
		timers[0].Stop()
		is("and stopped", 0)
	})
}
