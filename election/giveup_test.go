package election_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

const cooldown = 3 * time.Second

// resigned waits until the process has resigned and handed over, and returns the time.
func (p *candidate) resigned(cause error) time.Time {
	p.c.T.Helper()
	term, ok := p.Term()
	if !ok {
		p.c.T.Fatal("does not lead")
	}
	term.Resign(cause)
	if p.IsLeader() {
		p.c.T.Error("it still leads")
	}
	<-term.Context().Done()
	want.Err(p.c.T, context.Cause(term.Context()), election.ErrResigned)
	if cause != nil {
		want.Err(p.c.T, context.Cause(term.Context()), cause)
	}
	return time.Now()
}

// A resignation from the old term does not end the new one.
func TestHandover_ResignedComesBackAfterTheCooldown(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0, election.WithCooldown(cooldown))
		old := a.leads()
		since := a.resigned(errors.New("busy"))
		term := a.leads()
		if took := time.Since(since); took < cooldown || took > cooldown*11/10+100*time.Millisecond {
			t.Errorf("it leads again after %v, want %v", took, cooldown)
		}
		old.Resign(errors.New("late"))
		time.Sleep(ttl)
		if now, ok := a.Term(); !ok || now != term {
			t.Errorf("term %v after a resignation from the previous term", now)
		}
	})
}

func TestHandover_MaxTenureRotates(t *testing.T) {
	const tenure, jitter = time.Minute, 6 * time.Second
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		for _, id := range []string{"a", "b", "c"} {
			c.replica(id, 0, election.WithMaxTenure(tenure), election.WithCooldown(cooldown))
		}
		time.Sleep(20 * tenure)
		shortest, longest, changes := tenure, tenure, 0
		terms := c.spans()
		for i, s := range terms {
			led := s.done.Sub(s.from)
			shortest, longest = min(shortest, led), max(longest, led)
			if i > 0 && terms[i-1].who != s.who {
				changes++
			}
		}
		if len(terms) < 14 || changes != len(terms)-1 {
			t.Errorf("%d terms, %d of them after a term of the other process", len(terms), changes)
		}
		if shortest < tenure-jitter || longest > tenure+jitter || longest-shortest < jitter/2 {
			t.Errorf("terms of %v to %v, want %v plus or minus up to %v", shortest, longest, tenure, jitter)
		}
	})
}

func TestHandover_StandbyLeadsOnlyWhereNobodyElseDoes(t *testing.T) {
	const delay = 2 * time.Second
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		standby := c.replica("standby", 0, election.WithStandby(delay))
		began := time.Now()
		standby.leads()
		if took := time.Since(began); took < delay || took > delay+100*time.Millisecond {
			t.Errorf("it leads after %v, want %v", took, delay)
		}
		a := c.replica("a", 0)
		time.Sleep(ttl)
		if a.IsLeader() {
			t.Error("a standby that leads was deposed")
		}
		standby.resigned(nil)
		a.leads()
		b := c.replica("b", 0)
		time.Sleep(ttl)
		a.resigned(nil)
		b.leads()
	})
}

// Many goroutines resign at once, one of them inside the callback: the term ends once, and nobody waits.
func TestHandover_ResignCoalesces(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		ended := 0
		p := c.candidate("a", election.WithCooldown(cooldown),
			election.WithHooks(election.Hooks{Ended: func(*election.Term, error) { ended++ }}),
			election.OnLeader(func(ctx context.Context) {
				term, _ := election.TermFrom(ctx)
				for range 100 {
					go term.Resign(errors.New("busy")) // returns at once
				}
				term.Resign(nil)
				if ctx.Err() == nil {
					t.Error("the context goes on")
				}
			}))
		ctx, cancel := context.WithTimeout(t.Context(), 10*cooldown-time.Second)
		defer cancel()
		if err := p.Run(ctx); err != nil {
			t.Error(err)
		}
		if ended < 9 || ended > 10 {
			t.Errorf("%d terms ended in ten cooldowns", ended)
		}
	})
}

func TestHandover_ResignedStaysAwayUntilItsWorkIsBack(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		free := make(chan struct{})
		a := c.candidate("a", election.WithCooldown(cooldown), election.WithDrainTimeout(time.Second),
			election.OnLeader(func(context.Context) { <-free })).run()
		term := a.leads()
		b := c.replica("b", 0)
		time.Sleep(ttl)
		term.Resign(nil)
		resigned := time.Now()
		b.leads()
		if took := time.Since(resigned); took < ttl-every {
			t.Errorf("the next leader led after %v, though the work of the first goes on", took)
		}
		want.Err(t, a.Check(), election.ErrUndrained)
		b.stop()
		<-b.ended
		time.Sleep(5 * ttl)
		if a.IsLeader() || c.held() > 0 {
			t.Error("it campaigned beside its own work")
		}
		close(free)
		a.leads()
		if err := a.Check(); err != nil {
			t.Error(err)
		}
	})
}

// Whatever the settings, a process that always resigns at once is elected at most a few times a second.
func TestCooldown_NoHotLoop(t *testing.T) {
	for name, gives := range map[string]func(ctx context.Context){
		"panics": func(context.Context) { panic("at once") },
		"resigns": func(ctx context.Context) {
			term, _ := election.TermFrom(ctx)
			term.Resign(nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				var elections atomic.Int32
				p := c.candidate("a", election.WithCooldown(0), election.WithPanicHandler(func(*election.PanicError) {}),
					election.WithHooks(election.Hooks{Elected: func(*election.Term) { elections.Add(1) }}), election.OnLeader(gives))
				p.run()
				time.Sleep(10 * time.Second)
				if n := elections.Load(); n == 0 || n > 40 {
					t.Errorf("%d elections in 10 s", n)
				}
			})
		})
	}
}
