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

// Work outside callbacks learns of the end of the term, and has returned before anybody else leads.
func TestTermDo_IsWaitedFor(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.candidate("a").run()
		term := a.leads()
		b := c.candidate("b").run()
		oops, ended := errors.New("oops"), make(chan error, 1)
		go func() { // ends with the term
			ended <- term.Do(t.Context(), func(ctx context.Context) error {
				if mine, ok := election.TermFrom(ctx); !ok || mine != term {
					t.Errorf("its context belongs to term %v", mine)
				}
				<-ctx.Done()
				want.Err(t, context.Cause(ctx), election.ErrStopped)
				time.Sleep(time.Second)
				if b.IsLeader() || !term.Valid() {
					t.Error("somebody else leads beside it")
				}
				return oops
			})
		}()
		time.Sleep(time.Second)
		a.stop()
		want.Err(t, <-ended, oops)
		<-a.ended
		if a.err != nil {
			t.Error(a.err)
		}
		b.leads()
		err := term.Do(t.Context(), func(context.Context) error {
			t.Error("called after the term")
			return nil
		})
		want.Err(t, err, election.ErrStopped)
	})
}

// The caller's context ends the work too, and its panic goes to the caller. The term goes on after both.
func TestTermDo_BelongsToItsCaller(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.candidate("a").run()
		term := a.leads()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		want.Err(t, term.Do(ctx, func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}), context.DeadlineExceeded)
		func() {
			defer func() {
				if recover() != "mine" {
					t.Error("the panic was swallowed")
				}
			}()
			_ = term.Do(t.Context(), func(context.Context) error { panic("mine") })
		}()
		if !a.IsLeader() {
			t.Error("the term has ended")
		}
		a.stop()
		<-a.ended
		if a.err != nil {
			t.Error(a.err)
		}
	})
}

// A refusal says why, and leaves nothing behind in the caller's context. A term that has just been won takes work at once.
func TestTermDo_RefusedAndEarly(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		early := make(chan error, 1)
		a := c.candidate("a", election.WithHooks(election.Hooks{Elected: func(term *election.Term) {
			early <- term.Do(t.Context(), func(context.Context) error { return nil })
		}})).run()
		term := a.leads()
		if err := <-early; err != nil {
			t.Errorf("from the hook Elected: %v", err)
		}
		want.Text(t, term.Do(t.Context(), nil), "the function is nil")
		a.stop()
		<-a.ended
		caller := watched{Context: t.Context(), done: make(chan struct{}), children: new(atomic.Int64)}
		for range 10 {
			err := term.Do(caller, func(context.Context) error { return nil })
			want.Err(t, err, election.ErrStopped)
		}
		if n := caller.children.Load(); n != 0 {
			t.Errorf("%d contexts still wait for the caller's", n)
		}
	})
}

// watched is a context that counts the contexts derived from it.
type watched struct {
	context.Context
	done     chan struct{} // never closed
	children *atomic.Int64
}

func (w watched) Done() <-chan struct{} { return w.done }

// AfterFunc is called by package context for each derived context.
func (w watched) AfterFunc(func()) (stop func() bool) {
	w.children.Add(1)
	return func() bool {
		w.children.Add(-1)
		return true
	}
}
