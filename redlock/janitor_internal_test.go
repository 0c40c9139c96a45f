package redlock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
)

// Expired leftovers are dropped, even behind others that have not expired.
func TestJanitor_DropsWhatHasRunOutBehindWhatHasNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &janitor{clock: clock.New()}
		now := j.clock.Now()
		j.second = []leftover{
			{field: "n:old", tell: &notifyFailed, until: now.Add(10 * time.Second), due: now.Add(9 * time.Second)},
			{field: "n:x", tell: &notifyAgain, until: now.Add(time.Second), due: now.Add(20 * time.Millisecond), sure: true},
		}
		time.Sleep(3 * time.Second)
		if batch, _, _ := j.next(); len(batch) > 0 {
			t.Errorf("an expired leftover is released: %+v", batch)
		}
	})
}
