package election_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
)

const cooldown = 3 * time.Second

// resigned waits until the process has resigned and handed over, and returns when.
func (p *candidate) resigned(cause error) time.Time {
	p.c.t.Helper()
	term, ok := p.Term()
	if !ok {
		p.c.t.Fatal("does not lead")
	}
	term.Resign(cause)
	if p.IsLeader() {
		p.c.t.Error("it still leads")
	}
	<-term.Context().Done()
	wantErr(p.c.t, context.Cause(term.Context()), election.ErrResigned)
	if cause != nil {
		wantErr(p.c.t, context.Cause(term.Context()), cause)
	}
	return time.Now()
}

func TestResign_HandsOverToAnother(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0, election.WithCooldown(cooldown))
		old := a.leads()
		b := c.replica("b", 0)
		time.Sleep(time.Second)
		since := a.resigned(errors.New("busy"))
		b.leads()
		if took := time.Since(since); took > 10*time.Millisecond {
			t.Errorf("the next one led after %v", took)
		}
		time.Sleep(2 * cooldown)
		old.Resign(nil) // it is over: nothing happens
		if !b.IsLeader() {
			t.Error("the next one leads no more")
		}
	})
}

func TestResign_ComesBackIfThereIsNobodyElse(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0, election.WithCooldown(cooldown))
		a.leads()
		since := a.resigned(errors.New("busy"))
		a.leads()
		if took := time.Since(since); took < cooldown || took > cooldown+100*time.Millisecond {
			t.Errorf("it leads again after %v, want %v", took, cooldown)
		}
	})
}

func TestResign_IsScopedToItsTerm(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0, election.WithCooldown(cooldown))
		old := a.leads()
		a.resigned(nil)
		term := a.leads()
		old.Resign(errors.New("late"))
		time.Sleep(ttl)
		if now, ok := a.Term(); !ok || now != term {
			t.Errorf("term %v after a resignation from the one before", now)
		}
	})
}

func TestMaxTenure_RotatesWithinItsJitter(t *testing.T) {
	const tenure, jitter = time.Minute, 20 * time.Second
	bubble(t, 3, func(t *testing.T, c *cluster) {
		for _, id := range []string{"a", "b", "c"} {
			c.replica(id, 0, election.WithMaxTenure(tenure, jitter), election.WithCooldown(cooldown))
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
			t.Errorf("%d terms, %d of them after another's", len(terms), changes)
		}
		if shortest < tenure-jitter || longest > tenure+jitter || longest-shortest < jitter/2 {
			t.Errorf("terms of %v to %v, want %v and up to %v less or more", shortest, longest, tenure, jitter)
		}
	})
}

func TestStandby_LeadsOnlyWhereNobodyElseDoes(t *testing.T) {
	const delay = 2 * time.Second
	bubble(t, 3, func(t *testing.T, c *cluster) {
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
		for range 10 {
			time.Sleep(ttl)
			leader, next := a, b
			if b.IsLeader() {
				leader, next = b, a
			}
			leader.resigned(nil)
			next.leads()
		}
	})
}

func TestPanicHandler_GetsThePanicAndTheProcessGoesOn(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		var told []*election.PanicError
		var at []time.Time
		p := c.candidate("a", election.WithCooldown(cooldown),
			election.WithPanicHandler(func(e *election.PanicError) { told, at = append(told, e), append(at, time.Now()) }),
			election.OnLeader(func(context.Context) {
				if len(told) < 8 {
					panic("once more")
				}
			}))
		p.run()
		time.Sleep(time.Hour)
		p.leads()
		p.stop()
		<-p.ended
		if len(told) != 8 || told[0].Value != "once more" || len(told[0].Stack) == 0 {
			t.Fatalf("told %v", told)
		}
		want := cooldown
		for i := range told[1:] {
			if pause := at[i+1].Sub(at[i]); pause < want || pause > want+100*time.Millisecond {
				t.Errorf("panic %d came %v after the one before, want %v", i+2, pause, want)
			}
			want = min(2*want, 10*ttl)
		}
	})
}
