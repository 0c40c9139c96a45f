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
)

// A thousand terms, as fast as they can follow each other, and now and then a node forgets everything. c.spans looks at the tokens.
func TestFence_TokensStrictlyIncrease(t *testing.T) {
	const terms = 1000
	bubble(t, 3, func(t *testing.T, c *cluster) {
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
				t.Fatal("it leads no more")
			}
			if i%100 == 0 {
				if node := random.IntN(3); random.IntN(2) == 0 {
					c.Wipe(node)
				} else {
					c.Restart(node)
				}
				time.Sleep(2 * ttl) // until its guard is over, and it is repaired
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

func TestFence_TermIsOfTheCallbackAndNoLongerValidAfterItsDeadline(t *testing.T) {
	bubble(t, 5, func(t *testing.T, c *cluster) {
		p := c.candidate("a")
		inside := make(chan *election.Term, 1)
		p.OnLeader(func(ctx context.Context) {
			term, ok := election.TermFrom(ctx)
			if !ok {
				t.Error("no term")
			}
			inside <- term
			<-ctx.Done()
		})
		if _, ok := p.Term(); ok {
			t.Error("a term before the first")
		}
		p.run()
		term := <-inside
		if now, ok := p.Term(); !ok || now != term || term.Token() == 0 || !term.Valid() {
			t.Errorf("the callback's term is %d, that of the Elector another", term.Token())
		}
		p.process.Hang()
		<-term.Context().Done()
		if _, ok := p.Term(); ok || term.Valid() {
			t.Error("valid after its deadline")
		}
	})
}

var errStale = errors.New("stale")

// resource is what the README recommends: it keeps the largest token that it was shown.
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

// A process that was paused inside its work writes when it wakes; the resource refuses it.
func TestFence_StaleWriteIsRejected(t *testing.T) {
	bubble(t, 5, func(t *testing.T, c *cluster) {
		r := &resource{}
		paused := make(chan error, 1)
		a := c.candidate("a", election.OnLeader(func(ctx context.Context) {
			term, _ := election.TermFrom(ctx)
			if err := r.write(term.Token(), "a"); err != nil {
				t.Error(err)
			}
			time.Sleep(3 * ttl) // it does not look at its context
			paused <- r.write(term.Token(), "a again")
		})).run()
		a.leads()
		a.process.Hang()
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
		a.stop() // before it leads again
		<-a.ended
		synctest.Wait()
		if len(r.lines) != 2 || r.lines[1] != "b" {
			t.Errorf("written %q", r.lines)
		}
	})
}
