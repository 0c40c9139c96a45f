package scheduler_test

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

// The nodes are away for six seconds, which the term survives, when a run ends.
func TestFinish_IsWrittenWhileTheTermGoesOn(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.leader("a")
		a.add(a.job("job", "@every 1h", lasting(2*time.Second)))
		term := a.leads()
		before := term.Deadline()
		c.sleepTo(time.Hour + 1900*time.Millisecond)
		for before = term.Deadline(); term.Deadline().Equal(before); {
			time.Sleep(time.Millisecond) // until it has been renewed
			if c.sinceStart() > time.Hour+1990*time.Millisecond {
				break
			}
		}
		a.process.Hang()
		c.sleepTo(c.sinceStart() + 5500*time.Millisecond)
		a.process.Heal()
		c.sleepTo(time.Hour + 30*time.Minute)
		if now, ok := a.elector.Term(); !ok || now != term {
			t.Skip("the term did not survive")
		}
		if got := a.states("job")["1h0m0s"]; got != scheduler.StateOK {
			t.Errorf("recorded %q half an hour later", got)
		}
	})
}
