package election_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/race"
)

// Terms follow each other as fast as they can, and now and then a node loses all its data. c.spans checks the tokens.
func TestFence_TokensStrictlyIncrease(t *testing.T) {
	terms := race.Scale(100, 1000)
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
			if i%(terms/10) == 0 {
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

var errStale = errors.New("stale")

// resource does what the README recommends: it remembers the largest token that it was shown.
type resource struct {
	mu    sync.Mutex // guards the fields below
	fence uint64
	lines []string
}

func (r *resource) write(token uint64, line string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if token < r.fence {
		return errStale
	}
	r.fence = token
	r.lines = append(r.lines, line)
	return nil
}

// A process that was paused during its work writes when it wakes; the resource refuses the write.
func TestFence_StaleWriteIsRejected(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		r := &resource{}
		paused := make(chan error, 1)
		a := c.candidate("a", election.OnLeader(func(ctx context.Context) {
			term, _ := election.TermFrom(ctx)
			if err := r.write(term.Token(), "a"); err != nil {
				t.Error(err)
			}
			time.Sleep(3 * ttl) // it does not check its context
			paused <- r.write(term.Token(), "a again")
		})).run()
		a.leads()
		a.links.Hang()
		b := c.candidate("b", election.OnLeader(func(ctx context.Context) {
			term, _ := election.TermFrom(ctx)
			if err := r.write(term.Token(), "b"); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
		})).run()
		b.leads()
		if err := <-paused; !errors.Is(err, errStale) {
			t.Errorf("the deposed leader's write: %v", err)
		}
		a.stop() // so that it does not lead again
		<-a.ended
		synctest.Wait()
		if len(r.lines) != 2 || r.lines[1] != "b" {
			t.Errorf("written %q", r.lines)
		}
	})
}
