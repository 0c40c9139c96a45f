package election_test

import (
	"math"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestCheck_IsNilForAFollowerThatWaits(t *testing.T) {
	t.Run("behind another of its process", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, c *cluster) {
			c.replica("a", 0).leads()
			process := c.nodes.Process()
			locker := process.Locker()
			b := c.candidateOf(locker, process, "x", "b").run()
			d := c.candidateOf(locker, process, "x", "d").run()
			for range 20 {
				time.Sleep(ttl)
				for _, p := range []*candidate{b, d} {
					if err := p.Check(); err != nil {
						t.Fatalf("%s follows: %v", p.id, err)
					}
				}
			}
		})
	})
	t.Run("for a longer lease than its own", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, c *cluster) {
			long := c.nodes.Process().Locker(redlock.WithMaxTTL(10*time.Minute), redlock.WithTTL(10*time.Minute))
			if _, err := long.Acquire(t.Context(), "x"); err != nil {
				t.Fatal(err)
			}
			b := c.candidate("b").run()
			for range 20 {
				time.Sleep(ttl)
				if err := b.Check(); err != nil {
					t.Fatalf("it follows: %v", err)
				}
			}
		})
	})
	t.Run("for a longer guard than its own", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, c *cluster) {
			long := c.nodes.Process().Locker(redlock.WithMaxTTL(10*time.Minute), redlock.WithTTL(10*time.Minute))
			lease, err := long.Acquire(t.Context(), "y")
			if err != nil {
				t.Fatal(err)
			}
			_ = lease.Release(t.Context())
			for i := range 3 {
				c.Restart(i)
			}
			b := c.candidate("b").run()
			for range 20 {
				time.Sleep(ttl)
				if err := b.Check(); err != nil {
					t.Fatalf("it follows: %v", err)
				}
			}
		})
	})
}

func TestCheck_DrainForEver(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", time.Hour, election.WithDrainTimeout(math.MaxInt64))
		a.leads()
		a.stop()
		time.Sleep(time.Minute)
		if err := a.Check(); err != nil {
			t.Errorf("it drains, as it may: %v", err)
		}
	})
}
