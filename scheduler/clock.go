package scheduler

import (
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/redlock"
)

// skewed is how far the wall clock of this process may differ from the nodes' clock before that is reported.
const skewed = 500 * time.Millisecond

// nodesClock is the time that ticks follow: the nodes' clock, which all replicas share. It goes back only if the nodes' clocks are
// set back by more than [jobstore.Ahead]. Only one goroutine uses it.
type nodesClock struct {
	locker *redlock.Locker
	wall   func() time.Time // of this process
	latest time.Time
	at     time.Time     // when latest was read
	back   time.Duration // by how much the nodes' clocks were set back since the loop last asked
	skew   time.Duration // last reported value
	report func(skew time.Duration)
}

func (c *nodesClock) now() time.Time {
	wall := c.wall()
	t, ok := c.locker.Time()
	if !ok { // not expected: a leader has asked a quorum at least once
		t = wall.UTC()
	}
	if skew := wall.Sub(t).Round(time.Millisecond); (skew - c.skew).Abs() > skewed {
		c.skew = skew
		c.report(skew)
	}
	isSetBack := c.latest.Sub(t) > jobstore.Ahead
	if isSetBack {
		c.back += c.latest.Add(time.Since(c.at)).Sub(t)
	}
	if isSetBack || t.After(c.latest) {
		c.latest, c.at = t, time.Now()
	}
	return c.latest
}

// past returns an instant, or the present one if it is in the future: it was taken before the nodes' clocks were set back.
func (c *nodesClock) past(t time.Time) time.Time {
	if now := c.now(); t.Sub(now) > jobstore.Ahead {
		return now
	}
	return t
}

func (s *Scheduler) reportSkew(skew time.Duration) {
	if skew.Abs() <= skewed {
		s.log.Info("the clock of this process agrees with the nodes' clock again")
	} else {
		s.log.Warn("the clock of this process differs from the nodes' clock, which the ticks follow",
			zap.Duration("ahead_by", skew))
	}
	s.hooks.clockSkew(skew)
}
