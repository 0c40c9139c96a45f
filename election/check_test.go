package election_test

import (
	"math"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestCheck_IsNilForAFollowerThatWaits(t *testing.T) {
	long := []redlock.Option{redlock.WithMaxTTL(10 * time.Minute), redlock.WithTTL(10 * time.Minute)}
	for name, followers := range map[string]func(c *cluster) []*candidate{
		"behind another of its process": func(c *cluster) []*candidate {
			c.replica("a", 0).leads()
			locker, links := c.Locker()
			return []*candidate{c.candidateOf(locker, links, "x", "b"), c.candidateOf(locker, links, "x", "d")}
		},
		"for a longer lease than its own": func(c *cluster) []*candidate {
			locker, _ := c.Locker(long...)
			if _, err := locker.Acquire(c.T.Context(), lockX); err != nil {
				c.T.Fatal(err)
			}
			return []*candidate{c.candidate("b")}
		},
		"for a longer guard than its own": func(c *cluster) []*candidate {
			locker, _ := c.Locker(long...)
			lease, err := locker.Acquire(c.T.Context(), "y")
			if err != nil {
				c.T.Fatal(err)
			}
			_ = lease.Release(c.T.Context())
			for i := range c.N {
				c.Restart(i)
			}
			return []*candidate{c.candidate("b")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				all := followers(c)
				for _, p := range all {
					p.run()
				}
				for range 20 {
					time.Sleep(ttl)
					for _, p := range all {
						if err := p.Check(); err != nil {
							t.Fatalf("%s follows: %v", p.id, err)
						}
					}
				}
			})
		})
	}
}

func TestCheck_DrainForEver(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 2*time.Minute, election.WithDrainTimeout(math.MaxInt64))
		a.leads()
		a.stop()
		time.Sleep(time.Minute)
		if err := a.Check(); err != nil {
			t.Errorf("it drains, as it may: %v", err)
		}
	})
}
