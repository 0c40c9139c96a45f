package clock_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/testkit/race"
)

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
								c.Advance(within)
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

func TestStop_IsTheEndOfATimer(t *testing.T) {
	c := clock.New()
	for range race.Scale(1000, 5000) {
		started := make(chan struct{})
		timer := c.AfterFunc(c.Now().Add(rand.N(20*time.Microsecond)), func() { close(started) })
		for range rand.N(200) {
			c.Slept()
		}
		if !timer.Stop() {
			<-started // hangs if it neither stopped the timer nor was too late
			continue
		}
		select {
		case <-started:
			t.Fatal("ran, and was stopped")
		default:
		}
		if timer.Stop() {
			t.Fatal("stopped twice")
		}
	}
}
