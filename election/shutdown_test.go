package election_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/election"
)

func TestShutdown_DrainsWithinItsContext(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
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
		for i := range 3 {
			if c.Node(i).Exists("{redlock}:lock:x") {
				t.Error("not released")
			}
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
			bubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.replica("a", time.Minute, election.WithDrainTimeout(time.Hour))
				term := a.leads()
				ctx, cancel := context.WithTimeout(t.Context(), budget)
				defer cancel()
				began := time.Now()
				wantErr(t, a.Shutdown(ctx), election.ErrUndrained)
				if took := time.Since(began); took > budget {
					t.Errorf("took %v", took)
				}
				<-a.ended
				wantErr(t, a.err, election.ErrUndrained)
				if took := time.Since(began); took > budget+margin {
					t.Errorf("Run took %v", took)
				}
				if term.Valid() {
					t.Error("the term goes on")
				}
				if !c.Node(0).Exists("{redlock}:lock:x") {
					t.Error("released under running work")
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

func TestShutdown_WhileFollowingReturnsAtOnce(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
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
