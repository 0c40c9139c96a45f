package jobstore_test

import (
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func TestPrepare_ANodeWhoseClockIsOffDoesNotCount(t *testing.T) {
	for name, off := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour, "a little behind": -1900 * time.Millisecond,
		"of another age": 250 * 365 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.stored()
				c.Offset(0, off)
				time.Sleep(4 * time.Second) // longer than the wait of a node whose clock was set back
				a.links.Delay(timeout/20, 1)
				for _, p := range a.mustPrepare(job) {
					if p.Node == 0 && p.Err == nil {
						t.Error("the node counts")
					}
				}
				a.links.Cut(2)
				_, err := a.prepare(job)
				want.Err(t, err, jobstore.ErrNoQuorum)
				_, _, err = a.Views(t.Context(), job)
				want.Err(t, err, jobstore.ErrNoQuorum)
				want.Text(t, err, jobstore.ErrClock.Error())
			})
		})
	}
}
