package election_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

func TestShutdown_DrainsWithinItsContext(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", time.Second)
		a.leads()
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		began := time.Now()
		if err := a.Shutdown(ctx); err != nil || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		<-a.ended
		synctest.Wait() // the third node's release may be on its way
		if n := c.held(); n > 0 {
			t.Errorf("%d nodes still have the lock", n)
		}
		if err := a.Shutdown(ctx); err != nil {
			t.Errorf("with nothing to stop: %v", err)
		}
		a.run().leads() // and it can run again
	})
}

func TestShutdown_OutOfTimeAbandons(t *testing.T) {
	for _, budget := range []time.Duration{0, time.Millisecond, time.Second, 5 * time.Second} {
		t.Run(budget.String(), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.replica("a", time.Minute, election.WithDrainTimeout(time.Hour))
				term := a.leads()
				ctx, cancel := context.WithTimeout(t.Context(), budget)
				defer cancel()
				began := time.Now()
				want.Err(t, a.Shutdown(ctx), election.ErrUndrained)
				if took := time.Since(began); took > budget {
					t.Errorf("took %v", took)
				}
				<-a.ended
				want.Err(t, a.err, election.ErrUndrained)
				if took := time.Since(began); took > budget+margin {
					t.Errorf("Run took %v", took)
				}
				if term.Valid() {
					t.Error("the term goes on")
				}
				if c.held() < c.N {
					t.Error("released under running work")
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

func TestShutdown_WhileFollowingReturnsAtOnce(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0)
		a.leads()
		b := c.replica("b", 0)
		time.Sleep(ttl)
		began := time.Now()
		if err := b.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		c.Hang()
		d := c.replica("d", 0)
		time.Sleep(ttl)
		if err := d.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > ttl+nodeTimeout {
			t.Errorf("took %v", took-ttl)
		}
	})
}
