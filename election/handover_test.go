package election_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func TestHandover_DrainTimeout(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		free := make(chan struct{})
		a := c.candidate("a", election.WithDrainTimeout(time.Minute),
			election.OnLeader(func(context.Context) { <-free })).run()
		term := a.leads()
		b := c.replica("b", 0)
		stopped := time.Now()
		a.stop()
		<-term.Context().Done()
		if got := time.Since(stopped); got != time.Minute {
			t.Errorf("the term's context ended after %v, want the drain timeout", got)
		}
		want.Err(t, context.Cause(term.Context()), election.ErrStopped)
		<-a.ended
		want.Err(t, a.err, election.ErrUndrained)
		want.Text(t, a.err, "still running: ", "TestHandover_DrainTimeout", " for ")
		if got := time.Since(stopped); got > time.Minute+margin {
			t.Errorf("Run returned after %v", got)
		}
		if b.IsLeader() {
			t.Error("released under running work")
		}
		b.leads() // when the lease has run out
		if got := time.Since(stopped); got < time.Minute+ttl-every {
			t.Errorf("the next leader led after %v", got)
		}
		close(free)
	})
}

func TestHandover_LostWhileDraining(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 2*ttl, election.WithDrainTimeout(10*ttl))
		term := a.leads()
		a.stop()
		time.Sleep(time.Millisecond)
		a.links.Cut()
		<-term.Context().Done()
		want.Err(t, context.Cause(term.Context()), election.ErrLost)
		if left := time.Until(term.Deadline()); left != 0 {
			t.Errorf("ended %v before the stop deadline", left)
		}
		<-a.ended
		want.Err(t, a.err, election.ErrUndrained)
		time.Sleep(2 * ttl)
	})
}

// If no node answers a release, the lease runs out. If the release arrives later, it does not affect the next leader's lease.
func TestHandover_FailedReleaseTouchesNoSuccessor(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0)
		a.leads()
		b := c.replica("b", 0)
		time.Sleep(ttl)
		a.links.Hang()
		stopped := time.Now()
		a.stop()
		<-a.ended
		if took := time.Since(stopped); took > time.Second {
			t.Errorf("Run returned after %v", took)
		}
		term := b.leads()
		if took := time.Since(stopped); took > ttl+100*time.Millisecond {
			t.Errorf("the next leader led after %v", took)
		}
		a.links.Heal() // the delayed requests of the release arrive
		time.Sleep(3 * ttl)
		if now, ok := b.Term(); !ok || now != term || c.held() != c.N {
			t.Errorf("the next leader's lease was changed: %d keys", c.held())
		}
		c.spans()
	})
}
