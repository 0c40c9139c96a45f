package scheduler

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestLedger_HoldsEndsForTwoSecondsAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g ledger
		held := func() time.Duration {
			start := time.Now()
			<-g.held.Done()
			return time.Since(start)
		}
		g.hold(true)
		time.Sleep(time.Second)
		g.hold(true) // still: it began a second ago
		if left := held(); left != maxHold-time.Second {
			t.Errorf("held for %v more", left)
		}
		g.hold(true) // ticks are due without end
		if left := held(); left != 0 {
			t.Errorf("held again, for %v", left)
		}
		g.hold(false)
		g.hold(true)
		time.AfterFunc(time.Millisecond, func() { g.hold(false) })
		if left := held(); left != time.Millisecond {
			t.Errorf("held for %v after what was due was claimed", left-time.Millisecond)
		}
	})
}
