package election_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/election"
)

// Terms follow each other as fast as they can, and now and then a node loses all its data. c.spans checks the tokens.
func TestFence_TokensStrictlyIncrease(t *testing.T) {
	terms := 60 * *rounds
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		random := rand.New(rand.NewPCG(1, 2))
		var elected, drained atomic.Int32
		opts := []election.Option{election.WithCooldown(0), election.WithHooks(election.Hooks{
			Elected: func(*election.Term) { elected.Add(1) },
			Drained: func(*election.Term, time.Duration, bool) { drained.Add(1) },
		})}
		all := []*candidate{c.replica("a", 0, opts...), c.replica("b", 0, opts...)}
		for i := range terms {
			term, ok := leader(all...).Term()
			if !ok {
				t.Fatal("it no longer leads")
			}
			if i%20 == 10 {
				if node := random.IntN(3); random.IntN(2) == 0 {
					c.Wipe(node)
				} else {
					c.Restart(node)
				}
				time.Sleep(2 * ttl) // until the node's guard is over and the node is repaired
			}
			term.Resign(nil)
			<-term.Context().Done()
		}
		for _, p := range all {
			p.stop()
			<-p.ended
		}
		synctest.Wait()
		got := len(c.spans())
		if got < terms || got != int(elected.Load()) || got != int(drained.Load()) {
			t.Errorf("%d terms were worked in, %d began and %d ended", got, elected.Load(), drained.Load())
		}
	})
}
