package scheduler_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// The leader has the job, has not written it yet, and is told to forget it.
func TestForget_NotAJobThatTheLeaderHasYetToWrite(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.leader("a"), c.idle("b")
		for _, r := range []*replica{a, b} {
			r.add(r.job("job", "*/20 * * * * *", quick))
		}
		c.SleepTo(19500 * time.Millisecond)
		a.links.Cut(1, 2)
		c.SleepTo(31 * time.Second)
		a.links.Cut()
		b.links.Hang(2)
		b.campaign()
		b.leads()
		time.Sleep(500 * time.Millisecond)
		if err := c.idle("x").Forget(t.Context(), "job"); !errors.Is(err, scheduler.ErrJobInUse) {
			t.Errorf("forget: %v", err)
		}
		b.links.Heal()
		c.SleepTo(50 * time.Second)
		ran, missed := b.accounted("job")
		if history, _ := b.History(t.Context(), "job", 50); ran+missed < 2 {
			t.Errorf("of the ticks of 20s and 40s %d ran and %d were missed: %v", ran, missed, history)
		}
	})
}
