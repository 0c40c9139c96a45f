package clock_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/redlockfx/redlockfx/internal/clock"
)

// step is one operation on a timer.
type step struct {
	do string
	d  time.Duration
}

var steps = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
	return step{
		do: rapid.SampledFrom([]string{"stop", "reset", "wait"}).Draw(t, "do"),
		d:  time.Duration(rapid.IntRange(-1, 6).Draw(t, "d")) * 100 * time.Millisecond,
	}
}), 1, 20)

// Without sleep, a Timer and a time.Timer return the same and run at the same instants, whatever is done to them.
func TestTimer_IsATimeTimerWithoutSleep(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plan := steps.Draw(rt, "plan")
		synctest.Test(t, func(t *testing.T) { follow(t, plan) })
		if t.Failed() {
			rt.Fatal("see above")
		}
	})
}

func follow(t *testing.T, plan []step) {
	c := clock.New()
	var mu sync.Mutex // guards ran, which the timers add to
	var ran [2][]time.Time
	note := func(who int) func() {
		return func() {
			mu.Lock()
			defer mu.Unlock()
			ran[who] = append(ran[who], time.Now())
		}
	}
	ours, theirs := c.AfterFunc(c.Now(), note(0)), time.AfterFunc(0, note(1))
	for i, step := range plan {
		time.Sleep(time.Nanosecond) // otherwise it is undefined whether a due timer can be stopped
		synctest.Wait()
		var got, want bool
		switch step.do {
		case "stop":
			got, want = ours.Stop(), theirs.Stop()
		case "reset":
			got, want = ours.Reset(c.Now().Add(step.d)), theirs.Reset(step.d)
		case "wait":
			time.Sleep(step.d)
		}
		if got != want {
			t.Errorf("%v, step %d: was armed: %v, a time.Timer: %v", plan, i+1, got, want)
		}
	}
	time.Sleep(time.Second)
	mu.Lock()
	defer mu.Unlock()
	if !slices.EqualFunc(ran[0], ran[1], time.Time.Equal) {
		t.Errorf("%v: ran at %v, a time.Timer at %v", plan, ran[0], ran[1])
	}
}
