package election_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestOnLeader_Loss(t *testing.T) {
	for name, of := range map[string]struct {
		lose     func(p *candidate)
		attempts int // of the last renewal
	}{
		"renewals exhausted": {func(p *candidate) { p.links.Hang() }, 3},
		"another's on a majority": {func(p *candidate) {
			records.Default.Put(p.c.T, lockX, records.SomebodyElse, time.Hour, p.c.Raw()[:2]...)
		}, 1},
		"gone on a majority": {func(p *candidate) {
			records.Default.Drop(p.c.T, lockX, p.c.Raw()[:2]...)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				var cause, ended error
				attempts := 0
				p := c.candidate("a", election.WithStandby(time.Second), election.WithHooks(election.Hooks{
					Ended:   func(_ *election.Term, cause error) { ended = cause },
					Renewed: func(_ *election.Term, n int, _ time.Duration, _ error) { attempts = n },
				}), election.OnLeader(func(ctx context.Context) { <-ctx.Done(); cause = context.Cause(ctx) }))
				term := p.run().leads()
				synctest.Wait()
				began := time.Now()
				of.lose(p)
				<-term.Context().Done()
				synctest.Wait()
				want.Err(t, cause, election.ErrLost)
				want.Err(t, ended, election.ErrLost)
				if of.attempts == 1 { // the renewal has failed by then
					want.Err(t, cause, redlock.ErrLost)
					if took := time.Since(began); took > every {
						t.Errorf("the context was done after %v", took)
					}
				}
				if attempts != of.attempts {
					t.Errorf("%d attempts, want %d", attempts, of.attempts)
				}
			})
		})
	}
}

// The lease is renewed until the last callback has returned. Work that takes three TTLs to stop never overlaps with the next
// leader, which leads as soon as the work has returned.
func TestOnLeader_SlowReturnAfterVoluntaryEnd(t *testing.T) {
	for name, of := range map[string]struct {
		end   func(p *candidate, term *election.Term)
		cause error
	}{
		"shutdown": {func(p *candidate, _ *election.Term) { p.stop() }, election.ErrStopped},
		"resign":   {func(_ *candidate, term *election.Term) { term.Resign(nil) }, election.ErrResigned},
		"tenure":   {func(*candidate, *election.Term) { time.Sleep(ttl + ttl/5) }, election.ErrResigned},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.replica("a", 3*ttl, election.WithDrainTimeout(10*ttl), election.WithMaxTenure(2*ttl))
				term := a.leads()
				b := c.replica("b", 0)
				time.Sleep(ttl)
				of.end(a, term)
				time.Sleep(2 * ttl)
				if a.IsLeader() || !term.Valid() || term.Context().Err() != nil {
					t.Error("want, while it drains: the term is valid, its context goes on, and IsLeader is false")
				}
				if l, err := b.Leader(t.Context()); err != nil || l.ID != "a" {
					t.Errorf("the leader is %+v, %v", l, err)
				}
				<-term.Context().Done()
				want.Err(t, context.Cause(term.Context()), of.cause)
				returned := time.Now()
				b.leads()
				if took := time.Since(returned); took > 10*time.Millisecond {
					t.Errorf("handed over in %v", took)
				}
				if got := c.spans(); len(got) != 1 || got[0].till.Sub(got[0].done) != 3*ttl {
					t.Errorf("terms %v", got)
				}
			})
		})
	}
}

func TestOnLeader_SlowReturnAfterLoss(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		var inside, calls atomic.Int32
		late := 0
		p := c.candidate("a", election.WithHooks(election.Hooks{
			Drained: func(_ *election.Term, _ time.Duration, l bool) {
				if l {
					late++
				}
			},
		}), election.OnLeader(func(ctx context.Context) {
			calls.Add(1)
			if n := inside.Add(1); n != 1 {
				t.Errorf("%d at once", n)
			}
			<-ctx.Done()
			time.Sleep(5 * ttl) // long after the lease is lost
			inside.Add(-1)
		})).run()
		p.leads()
		p.links.Cut()
		time.Sleep(ttl + ttl/10)
		if err := p.Check(); !errors.Is(err, election.ErrUndrained) {
			t.Errorf("work outlives its lease, and the check says %v", err)
		}
		p.links.Heal()
		time.Sleep(2 * ttl)
		if p.IsLeader() || calls.Load() != 1 {
			t.Error("leads again beside the work of the last term")
		}
		p.leads()
		synctest.Wait()
		if n := calls.Load(); n != 2 {
			t.Errorf("%d calls", n)
		}
		if err := p.Check(); err != nil {
			t.Error(err)
		}
		p.stop()
		<-p.ended
		if late != 2 {
			t.Errorf("%d terms of two were reported as late", late)
		}
		time.Sleep(5 * ttl)
	})
}

func TestOnLeader_NeverReturns(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		free := make(chan struct{})
		var calls atomic.Int32
		p := c.candidate("a", election.WithDrainTimeout(time.Second),
			election.OnLeader(func(context.Context) { calls.Add(1); <-free })).run()
		p.leads()
		p.stop()
		<-p.ended
		want.Err(t, p.err, election.ErrUndrained)
		if got := p.State(); got != election.StateDraining {
			t.Errorf("while its work goes on after Run it is %s", got)
		}
		p.run()
		time.Sleep(5 * ttl)
		if n := calls.Load(); n != 1 {
			t.Errorf("%d calls", n)
		}
		p.stop() // while it waits for its callback
		<-p.ended
		want.Err(t, p.err, election.ErrUndrained)
		close(free)
		synctest.Wait()
		if got := p.State(); got != election.StateStopped {
			t.Errorf("when its work has returned it is %s", got)
		}
		p.run().leads()
	})
}

func TestOnLeader_RunsContextDoneAsLeader(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "v"))
		var cause error
		var value any
		a := c.candidate("a", election.OnLeader(func(ctx context.Context) {
			value = ctx.Value(key{})
			<-ctx.Done()
			cause = context.Cause(ctx)
		}))
		time.AfterFunc(ttl, func() { cancel(enough) })
		if err := a.Run(ctx); err != nil {
			t.Error(err)
		}
		want.Err(t, cause, election.ErrStopped, enough)
		if value != "v" {
			t.Errorf("value %v", value)
		}
	})
}

type key struct{}

// A term that was asked to end starts nothing, even though its lease is good.
func TestOnLeader_NothingStartsInATermThatWasAskedToEnd(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		var calls, elected atomic.Int32
		p := c.candidate("a", election.OnLeader(func(context.Context) { calls.Add(1) }),
			election.WithHooks(election.Hooks{Elected: func(term *election.Term) {
				elected.Add(1)
				term.Resign(nil)
			}}))
		p.run()
		time.Sleep(10 * ttl)
		if calls.Load() > 0 || elected.Load() < 2 {
			t.Errorf("called %d times in %d terms that were asked to end", calls.Load(), elected.Load())
		}
	})
}
