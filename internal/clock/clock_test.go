package clock_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/redlockfx/redlockfx/internal/clock"
)

func TestSlept_IsNothingOnAMachineThatIsAwake(t *testing.T) {
	c := clock.New()
	for range 1000 {
		if slept := c.Slept(); slept < 0 || slept > time.Millisecond {
			t.Fatalf("slept %v", slept)
		}
	}
}

func TestSlept_NeverDecreases(t *testing.T) {
	c := clock.New()
	c.Suspend(time.Second)
	c.Suspend(0)
	c.Suspend(-time.Hour)
	if slept := c.Slept(); slept < time.Second || slept > time.Second+time.Millisecond {
		t.Errorf("slept %v, want 1s", slept)
	}

	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			slept, now := c.Slept(), c.Now()
			for range 2000 {
				c.Suspend(time.Duration(i % 2))
				slept2, now2 := c.Slept(), c.Now()
				if slept2 < slept || now2.Before(now) {
					t.Errorf("slept %v after %v, %v after %v", slept2, slept, now2, now)
					return
				}
				slept, now = slept2, now2
			}
		})
	}
	wg.Wait()
	if slept := c.Slept(); slept < time.Second+4000 {
		t.Errorf("slept %v: some was not counted", slept)
	}
}

func TestNow_CountsSleepAndLocalDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.New()
		deadline := c.Now().Add(time.Minute)
		is := func(want, wantSlept time.Duration) {
			t.Helper()
			if slept := c.Slept(); slept != wantSlept {
				t.Errorf("slept %v, want %v", slept, wantSlept)
			}
			if left := time.Until(c.Local(deadline)); left != want {
				t.Errorf("%v left, want %v", left, want)
			}
			if left := deadline.Sub(c.Now()); left != want {
				t.Errorf("%v left by the clock itself, want %v", left, want)
			}
			if now := c.Local(c.Now()); !now.Equal(time.Now()) {
				t.Errorf("the present is %v, want %v", now, time.Now())
			}
		}
		is(time.Minute, 0)
		time.Sleep(10 * time.Second)
		is(50*time.Second, 0)
		c.Suspend(20 * time.Second)
		is(30*time.Second, 20*time.Second)
		c.Suspend(time.Hour)
		is(30*time.Second-time.Hour, time.Hour+20*time.Second)
		if slept := clock.New().Slept(); slept != 0 {
			t.Errorf("a new clock slept %v", slept)
		}
	})
}

// stepped returns t as if the wall clock had been set forward by d before it was read. The time package has no way to
// do this, so the function checks that its own way works.
func stepped(t *testing.T, at time.Time, d time.Duration) time.Time {
	t.Helper()
	const nanosecondBits = 30 // of the wall reading, below its seconds
	other := at
	*(*uint64)(unsafe.Pointer(&other)) += uint64(d/time.Second) << nanosecondBits
	if other.Sub(at) != 0 || other.Round(0).Sub(at.Round(0)) != d {
		t.Fatalf("%v is not %v with a wall reading %v ahead", other, at, d)
	}
	return other
}

// In real time: in a bubble, instants have no monotonic reading.
func TestInstants_DoNotDependOnTheWallClock(t *testing.T) {
	const d = 5 * time.Millisecond
	for _, step := range []time.Duration{-time.Hour, 0, time.Hour} {
		c := clock.New()
		c.Suspend(time.Minute)
		began := time.Now()
		deadline := stepped(t, c.Now().Add(d), step)
		local := c.Local(deadline)
		fired := make(chan struct{})
		c.AfterFunc(deadline, func() { close(fired) })
		<-fired

		for what, took := range map[string]time.Duration{
			"the timer":    time.Since(began),
			"the deadline": deadline.Sub(began) - c.Slept(),
			"in time.Now":  local.Sub(began),
		} {
			if took < d || took > 10*time.Minute {
				t.Errorf("step %v: %s: %v after the start, want %v", step, what, took, d)
			}
		}
		// The two readings of an instant are not taken at the same moment, so this one is not exact.
		if off := local.Round(0).Sub(began.Round(0)); off.Abs() > 10*time.Minute {
			t.Errorf("step %v: in time.Now it reads %v from the start, want %v", step, off, d)
		}
	}
}
