package redlock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
)

// What has run out is dropped, also behind what has not.
func TestJanitor_DropsWhatHasRunOutBehindWhatHasNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &janitor{clock: clock.New()}
		now := j.clock.Now()
		j.second = []leftover{
			{field: "n:old", tell: &tellFailed, until: now.Add(10 * time.Second), due: now.Add(9 * time.Second)},
			{field: "n:x", tell: &tellAgain, until: now.Add(time.Second), due: now.Add(20 * time.Millisecond), sure: true},
		}
		time.Sleep(3 * time.Second)
		if batch, _, _ := j.next(); len(batch) > 0 {
			t.Errorf("what has run out is released: %+v", batch)
		}
	})
}
