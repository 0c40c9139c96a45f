package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

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
