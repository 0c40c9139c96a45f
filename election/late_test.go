package election_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
)

// The machine sleeps past the stop deadline while a hook holds the callbacks up, and a renewal in flight is
// confirmed after the wake-up.
func TestOnLeader_NoTermGoesOnWithoutItsCallbacks(t *testing.T) {
	for range 12 { // how the renewals fall is up to chance
		bubble(t, 3, func(t *testing.T, c *cluster) {
			ticking := clock.New()
			process := c.nodes.Process()
			var seen atomic.Uint64 // the latest term that the callback was called in
			slept := false
			p := c.candidateOf(process.Locker(redlock.WithClock(ticking)), process, "x", "a",
				election.OnLeader(func(ctx context.Context) {
					term, _ := election.TermFrom(ctx)
					seen.Store(term.Token())
					<-ctx.Done()
				}),
				election.WithHooks(election.Hooks{Elected: func(term *election.Term) {
					if slept {
						return
					}
					slept = true
					sleepInARenewal(c, process, ticking, term)
				}}))
			p.run()
			time.Sleep(ttl)
			process.Heal()
			time.Sleep(ttl)
			term := p.leads()
			synctest.Wait()
			if seen.Load() != term.Token() {
				t.Errorf("term %d leads without its callback, which was last called in %d", term.Token(), seen.Load())
			}
		})
	}
}

func TestOnLeader_RegisteredPastTheDeadlineOfATermThatIsSaved(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		ticking := clock.New()
		process := c.nodes.Process()
		p := c.candidateOf(process.Locker(redlock.WithClock(ticking)), process, "x", "a").run()
		first := p.leads()
		sleepInARenewal(c, process, ticking, first)
		var seen atomic.Uint64
		p.OnLeader(func(ctx context.Context) {
			term, _ := election.TermFrom(ctx)
			seen.Store(term.Token())
			<-ctx.Done()
		})
		time.Sleep(ttl)
		process.Heal()
		time.Sleep(ttl)
		term := p.leads()
		synctest.Wait()
		if seen.Load() != term.Token() {
			t.Errorf("term %d leads without its callback, which was last called in %d", term.Token(), seen.Load())
		}
	})
}

// sleepInARenewal returns when the machine has slept past the stop deadline, though not past the lease, with
// a renewal under way that will be confirmed.
func sleepInARenewal(c *cluster, process *redlocktest.Process, ticking *clock.Clock, term *election.Term) {
	process.Cut() // one renewal fails: the next one will save much
	time.Sleep(time.Until(term.Deadline()) - every/2)
	process.Heal()
	process.Delay(10 * time.Millisecond)
	for before := c.Requests(0); c.Requests(0) == before; {
		time.Sleep(time.Millisecond)
	}
	slept := time.Until(term.Deadline()) + margin/4
	for i := range c.n {
		c.Jump(i, slept) // they are awake
	}
	ticking.Suspend(slept)
}
