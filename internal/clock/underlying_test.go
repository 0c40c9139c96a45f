package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

// These tests access the underlying time.Timers.

func TestLook_SetsTimersAnewOnlyAfterSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		runs := 0
		timer := c.AfterFunc(c.Now().Add(time.Second), func() { runs++ })
		for want := range 3 {
			timer.Reset(c.Now().Add(time.Second))
			timer.timer.Stop() // so that it runs only if it is reset
			time.Sleep(time.Minute)
			synctest.Wait()
			if runs != want {
				t.Fatalf("reset without sleep: ran %d times, want %d", runs, want)
			}
			c.Suspend(1)
			time.Sleep(pollInterval)
			synctest.Wait()
			if runs != want+1 {
				t.Fatalf("not reset after sleep: ran %d times, want %d", runs, want+1)
			}
		}
	})
}

func TestLook_IsNotEvenArmedWithoutTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		ran := make(chan struct{})
		one := c.AfterFunc(c.Now().Add(time.Second), func() { close(ran) })
		other := c.AfterFunc(c.Now().Add(time.Second/2), func() {})
		other.Stop()
		if !c.poll.Stop() {
			t.Error("no poll for an armed timer")
		}
		c.poll.Reset(pollInterval)
		<-ran
		if c.poll.Stop() {
			t.Error("a poll is left when the last timer has run")
		}
		one.Reset(c.Now().Add(time.Second))
		one.Stop()
		if c.poll.Stop() {
			t.Error("a poll is left when the last timer was stopped")
		}
		c.Advance(time.Hour)
		if c.poll.Stop() {
			t.Error("Advance polls without timers")
		}
	})
}

// A timer that fired before it was stopped or reset may run only after that.
func TestTimer_IsNotMovedByOneThatWentOffBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		runs := 0
		began := time.Now()
		timer := c.AfterFunc(c.Now().Add(time.Second), func() {
			if took := time.Since(began); took != time.Second {
				t.Errorf("ran after %v, want 1s", took)
			}
			runs++
		})
		timer.fire()
		time.Sleep(time.Minute)
		synctest.Wait()
		timer.fire()
		if runs != 1 {
			t.Errorf("ran %d times, want once", runs)
		}

		timer.Reset(c.Now().Add(time.Minute))
		timer.Stop()
		timer.fire()
		if timer.timer.Stop() {
			t.Error("a stopped timer was reset")
		}
		if runs != 1 {
			t.Errorf("ran %d times, though it was stopped", runs)
		}
	})
}
