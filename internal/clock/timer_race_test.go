package clock_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
)

// What Stop says is exact, too: a stopped timer that runs all the same, or is stopped twice, is one run too many.
func TestTimer_RunsOnceForEachTimeItWasArmedAndNotStopped(t *testing.T) {
	for _, within := range []time.Duration{1, 10 * time.Microsecond, time.Millisecond} {
		t.Run(fmt.Sprint(within), func(t *testing.T) {
			c := clock.New()
			var workers sync.WaitGroup
			var owed sync.WaitGroup // expected runs: one too many panics, one missing hangs
			for range 20 {
				owed.Add(1)
				timer := c.AfterFunc(c.Now().Add(rand.N(within)), owed.Done)
				for range 3 {
					workers.Go(func() {
						for range 300 {
							owed.Add(1)
							if timer.Reset(c.Now().Add(rand.N(within))) {
								owed.Done()
							}
							if rand.N(3) == 0 && timer.Stop() {
								owed.Done()
							}
							if rand.N(9) == 0 {
								c.Suspend(within)
							}
						}
					})
				}
			}
			workers.Wait()
			owed.Wait()
		})
	}
}
