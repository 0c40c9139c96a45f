package redlock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/signal"
)

// Expired leftovers are dropped, even behind others that have not expired.
func TestJanitor_DropsWhatHasRunOutBehindWhatHasNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &janitor{clock: clock.New(), sweep: newSweep(), more: signal.New()}
		j.tells = newTells("123456789012", time.Second)
		now := j.clock.Now()
		j.put(leftover{field: "n:old", tell: &j.tells.failed, until: now.Add(10 * time.Second)}, now.Add(9*time.Second))
		j.put(leftover{field: "n:x", tell: &j.tells.more, until: now.Add(time.Second)}, now.Add(20*time.Millisecond))
		time.Sleep(3 * time.Second)
		if work := j.next(maxReleases); len(work.batch) > 0 || work.wait != 6*time.Second {
			t.Errorf("next is %+v, want a wait for the leftover that has not expired", work)
		}
	})
}
