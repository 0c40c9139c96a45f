package clock_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
)

// pollInterval is the guaranteed bound for how late a timer is after sleep.
const pollInterval = 200 * time.Millisecond

func TestAfterFunc_IsExactWithoutSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, d := range []time.Duration{-time.Hour, 0, 1, 199 * time.Millisecond, time.Hour} {
			c := clock.New()
			began, fired := time.Now(), make(chan struct{})
			c.AfterFunc(c.Now().Add(d), func() { close(fired) })
			<-fired
			if took := time.Since(began); took != max(d, 0) {
				t.Errorf("took %v, want %v", took, max(d, 0))
			}
		}
	})
}

func TestAfterFunc_AllowsForSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ms, s = time.Millisecond, time.Second
		for name, test := range map[string]struct {
			awake, asleep time.Duration // parts of ten seconds
			least, most   time.Duration // time awake until it runs
		}{
			"overslept":             {4 * s, 20 * s, 4 * s, 4*s + pollInterval},
			"overslept by nothing":  {4 * s, 6 * s, 4 * s, 4*s + pollInterval},
			"slept for a part":      {4 * s, 5 * s, 5 * s, 5 * s},
			"slept a little":        {4 * s, ms, 9999 * ms, 9999 * ms},
			"between two looks":     {4100 * ms, 60 * s, 4100 * ms, 4200 * ms},
			"slept at once":         {0, 60 * s, 0, pollInterval},
			"shortly before it ran": {9900 * ms, 60 * s, 9900 * ms, 10 * s},
		} {
			c := clock.New()
			c.Suspend(time.Hour) // before it was armed, so it does not count
			began, at, fired := time.Now(), c.Now().Add(10*time.Second), make(chan struct{})
			c.AfterFunc(at, func() {
				if now := c.Now(); now.Before(at) {
					t.Errorf("%s: ran %v before its instant", name, at.Sub(now))
				}
				close(fired)
			})
			time.Sleep(test.awake)
			c.Suspend(test.asleep)
			<-fired
			if took := time.Since(began); took < test.least || took > test.most {
				t.Errorf("%s: took %v, want %v to %v", name, took, test.least, test.most)
			}
		}
	})
}

func TestAfterFunc_IsOnTimeOrWithinOneLookOfTheWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.New()
		var mu sync.Mutex // guards the variables below
		var woken time.Time
		var onTime, late int
		for i := range 1000 {
			at := c.Now().Add(time.Duration(i) * time.Second)
			c.AfterFunc(at, func() {
				mu.Lock()
				defer mu.Unlock()
				switch after := c.Now().Sub(at); {
				case after == 0:
					onTime++
				case after < 0 || time.Since(woken) > pollInterval:
					t.Errorf("timer %d: %v after its instant, %v after the wake-up",
						i, after, time.Since(woken))
				default:
					late++
				}
			})
		}
		for range 20 {
			time.Sleep(pollInterval + rand.N(5*time.Second))
			mu.Lock()
			woken = time.Now()
			c.Suspend(30 * time.Second)
			mu.Unlock()
		}
		time.Sleep(1000 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if onTime+late != 1000 || late < 500 {
			t.Errorf("%d ran on time, %d late: want 1000, most of them late", onTime, late)
		}
	})
}

func TestAdvance_RunsDueTimersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const awake, asleep = 1050 * time.Millisecond, 600 * time.Second // and no poll at its end
		c := clock.New()
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 1000 {
			d := time.Duration(i) * time.Second
			wg.Add(1)
			c.AfterFunc(c.Now().Add(d), func() {
				defer wg.Done()
				if took, want := time.Since(began), max(d-asleep, min(d, awake)); took != want {
					t.Errorf("timer of %v took %v, want %v", d, took, want)
				}
			})
		}
		time.Sleep(awake)
		c.Advance(asleep - time.Second)
		c.Advance(time.Second)
		wg.Wait()
	})
}

func TestAfterFunc_RunsInAGoroutineOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.New()
		release, ran := make(chan struct{}), make(chan struct{})
		hung := c.AfterFunc(c.Now(), func() { <-release })
		var times int
		var again *clock.Timer
		again = c.AfterFunc(c.Now().Add(time.Hour), func() {
			if hung.Stop() {
				t.Error("stopped a timer whose function is running")
			}
			if times++; times == 3 {
				close(ran)
				return
			}
			if again.Reset(c.Now().Add(time.Second)) {
				t.Error("a timer whose function is running is armed")
			}
		})
		again.Reset(c.Now())
		<-ran
		close(release)
	})
}
