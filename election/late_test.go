package election_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/clock"
)

// The machine sleeps past the stop deadline while a hook delays the callbacks. A renewal in flight is confirmed after the machine
// wakes.
func TestOnLeader_NoTermGoesOnWithoutItsCallbacks(t *testing.T) {
	t.Parallel()
	for range 3 * *rounds { // when the renewals happen is random
		inSeries(t, 3, func(t *testing.T, c *cluster) {
			seen, record := latest()
			var p *candidate
			var machine *clock.Clock
			slept := false
			p, machine = c.sleeper("a", election.OnLeader(record),
				election.WithHooks(election.Hooks{Elected: func(term *election.Term) {
					if slept {
						return
					}
					slept = true
					p.sleepInARenewal(machine, term)
				}}))
			p.run()
			time.Sleep(ttl)
			p.sees(seen)
		})
	}
}

func TestOnLeader_RegisteredPastTheDeadlineOfATermThatIsSaved(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		p, machine := c.sleeper("a")
		p.run()
		p.sleepInARenewal(machine, p.leads())
		seen, record := latest()
		p.OnLeader(record)
		time.Sleep(ttl)
		p.sees(seen)
	})
}

// latest returns a callback, and the token of the latest term for which it was called.
func latest() (*atomic.Uint64, func(context.Context)) {
	var seen atomic.Uint64
	return &seen, func(ctx context.Context) {
		term, _ := election.TermFrom(ctx)
		seen.Store(term.Token())
		<-ctx.Done()
	}
}

// sees fails the test unless the callback is called in the term that the candidate leads when all is well again.
func (p *candidate) sees(latest *atomic.Uint64) {
	p.c.T.Helper()
	p.links.Heal()
	time.Sleep(ttl)
	term := p.leads()
	synctest.Wait()
	if seen := latest.Load(); seen != term.Token() {
		p.c.T.Errorf("term %d leads without its callback, which was last called in %d", term.Token(), seen)
	}
}

// sleepInARenewal lets the machine sleep past the stop deadline, but not past the lease, during a renewal that will be confirmed.
func (p *candidate) sleepInARenewal(machine *clock.Clock, term *election.Term) {
	p.links.Cut() // one renewal fails, so the next one gains much time
	time.Sleep(time.Until(term.Deadline()) - every/2)
	p.links.Heal()
	p.links.Delay(10 * time.Millisecond)
	for before := p.c.Requests(0); p.c.Requests(0) == before; {
		time.Sleep(time.Millisecond)
	}
	slept := time.Until(term.Deadline()) + margin/4
	for i := range p.c.N {
		p.c.Jump(i, slept) // the nodes do not sleep
	}
	machine.Suspend(slept)
}
