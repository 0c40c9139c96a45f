package election_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/election"
)

func TestOnLeader_RegisteredWhileLeadingDrainingOrCoolingDown(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		p := c.replica("a", time.Second, election.WithCooldown(cooldown))
		var leading, draining, cooling, between []*election.Term
		seen := func(terms *[]*election.Term) func(context.Context) {
			return func(ctx context.Context) {
				term, _ := election.TermFrom(ctx)
				*terms = append(*terms, term)
				<-ctx.Done()
			}
		}
		first := p.leads()
		time.Sleep(ttl)
		p.OnLeader(seen(&leading))
		synctest.Wait() // until it is called
		first.Resign(nil)
		synctest.Wait() // until it drains
		p.OnLeader(seen(&draining))
		<-first.Context().Done()
		synctest.Wait() // until it cools down
		p.OnLeader(seen(&cooling))
		second := p.leads()
		p.stop()
		<-p.ended
		p.OnLeader(seen(&between))
		third := p.run().leads()
		synctest.Wait()
		if !slices.Equal(leading, []*election.Term{first, second, third}) {
			t.Errorf("registered while leading it saw %d terms, want the current one and the two that followed", len(leading))
		}
		for what, got := range map[string][]*election.Term{"draining": draining, "cooling down": cooling} {
			if !slices.Equal(got, []*election.Term{second, third}) {
				t.Errorf("registered while %s it saw %d terms, want the two that followed", what, len(got))
			}
		}
		if !slices.Equal(between, []*election.Term{third}) {
			t.Errorf("registered between two Runs it saw %d terms", len(between))
		}
	})
}

// Many goroutines register and unregister while terms come and go. Each callback gets every term that begins in between, once.
func TestOnLeader_RegisteredAroundChangesSeesEachTermOnce(t *testing.T) {
	const changes, apart = 20, 100 * time.Millisecond
	goroutines := 100 * *rounds
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		var mu sync.Mutex // guards elected and each seen
		var elected []uint64
		begun := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(elected)
		}
		p := c.candidate("a", election.WithCooldown(0), election.WithHooks(election.Hooks{
			Elected: func(term *election.Term) { // the callbacks start after it
				mu.Lock()
				defer mu.Unlock()
				elected = append(elected, term.Token())
			},
		})).run()
		var registering sync.WaitGroup
		for range goroutines {
			registering.Go(func() {
				time.Sleep(rand.N(changes * apart))
				var seen []uint64
				stop := p.OnLeader(func(ctx context.Context) {
					term, _ := election.TermFrom(ctx)
					mu.Lock()
					seen = append(seen, term.Token())
					mu.Unlock()
					<-ctx.Done()
				})
				first := begun() // the first term that it must get
				time.Sleep(rand.N(changes * apart))
				end := begun() - 1 // the callbacks of the last term may not have started yet
				stop()
				time.Sleep(time.Nanosecond) // until the started callbacks have begun
				mu.Lock()
				defer mu.Unlock()
				must, may := elected[min(first, end):end], elected[max(first-1, 0):]
				if !within(must, seen) || !within(seen, may) {
					t.Errorf("saw %d terms, want all of %d and one of each", len(seen), len(must))
				}
			})
		}
		for range changes {
			term := p.leads()
			time.Sleep(apart)
			term.Resign(nil)
		}
		registering.Wait()
	})
}

// within reports whether part is a contiguous part of whole.
func within(part, whole []uint64) bool {
	if len(part) == 0 {
		return true
	}
	at := slices.Index(whole, part[0])
	return at >= 0 && at+len(part) <= len(whole) && slices.Equal(part, whole[at:at+len(part)])
}

func TestOnLeader_Stop(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		p := c.candidate("a", election.WithMaxTenure(3*ttl/2))
		calls := 0
		var stop func()
		stop = p.OnLeader(func(ctx context.Context) {
			calls++
			stop() // from inside the callback
			<-ctx.Done()
		})
		other := 0
		p.OnLeader(func(ctx context.Context) { other++; <-ctx.Done() })
		p.run()
		p.leads()
		synctest.Wait()
		if !p.IsLeader() {
			t.Error("it does not lead after a callback was removed")
		}
		time.Sleep(20 * ttl)
		p.stop()
		<-p.ended
		if calls != 1 || other < 5 {
			t.Errorf("called %d times, the other one %d times", calls, other)
		}
	})
}

func TestOnLeader_ReturnsEarly(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		calls := 0
		p := c.candidate("a", election.OnLeader(func(context.Context) { calls++ })).run()
		term := p.leads()
		time.Sleep(5 * ttl)
		if now, ok := p.Term(); !ok || now != term || calls != 1 {
			t.Errorf("called %d times, and it leads: %v", calls, ok)
		}
	})
}

func TestOnLeader_WithoutAnyLockHeld(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		if _, ok := election.TermFrom(t.Context()); ok {
			t.Error("an empty context has a term")
		}
		var p *candidate
		done := make(chan struct{})
		p = c.candidate("a", election.OnLeader(func(ctx context.Context) {
			p.OnLeader(func(context.Context) {})()
			term, ok := election.TermFrom(ctx)
			current, leads := p.Term()
			own, _ := election.TermFrom(term.Context())
			if !ok || !leads || term != current || term != own || !p.IsLeader() || p.Check() != nil ||
				p.Name() != "x" || p.Identity() != "a" || p.Locker() != p.locker || time.Since(term.Since()) > time.Second {
				t.Error("the callback's view of its own term is wrong")
			}
			l, err := p.Leader(ctx)
			if err != nil || l.ID != "a" || l.Value != "at a" || l.Token != term.Token() {
				t.Errorf("the leader is %+v, %v", l, err)
			}
			seen := make(chan election.Leader, 1)
			defer p.OnNewLeader(func(l election.Leader) { seen <- l })()
			if l := <-seen; l.ID != "a" || l.Token != term.Token() {
				t.Errorf("observed %+v", l)
			}
			close(done)
			term.Resign(errors.New("enough"))
			if err := p.Shutdown(context.WithoutCancel(ctx)); err == nil {
				t.Error("a shutdown that its own callback waits for cannot drain")
			}
		}), election.WithDrainTimeout(time.Second))
		p.run()
		<-done
		<-p.ended
	})
}
