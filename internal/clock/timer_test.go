package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
)

// pollInterval is the guaranteed bound for how late a timer is after sleep.
const pollInterval = 200 * time.Millisecond

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
