package election_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
)

// Elections of other names, and a lock of the same name, do not affect an election.
func TestAcquire_ElectionsAreIsolated(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		var all []*candidate
		for _, name := range []string{"x", "x:1", "xy", "lock:x"} {
			locker, links := c.Locker()
			p := c.candidateOf(locker, links, name, name).run()
			p.leads()
			all = append(all, p)
		}
		lock := func(context.Context, *redlock.Lease) error { return nil }
		if err := all[0].locker.Do(t.Context(), all[0].Name(), lock); err != nil || !all[0].IsLeader() {
			t.Errorf("a lock of the same name: %v; leads %v", err, all[0].IsLeader())
		}
		all[0].stop()
		<-all[0].ended
		time.Sleep(2 * ttl)
		for _, p := range all[1:] {
			if l, err := p.Leader(t.Context()); !p.IsLeader() || err != nil || l.ID != p.Name() {
				t.Errorf("%s: leads %v, leader %+v, %v", p.Name(), p.IsLeader(), l, err)
			}
		}
	})
}

// A process that comes back under its old identity may be a second process of that identity. It waits for the end of the lease
// like any other candidate, however short its own TTL, and its term is a new one.
func TestAcquire_OwnLeftoverKeyIsANewTerm(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0)
		first := a.leads()
		a.links.Cut() // for good
		again := c.replica("a", 0, election.WithTTL(ttl/5))
		second := again.leads()
		if second.Token() <= first.Token() {
			t.Errorf("token %d after %d", second.Token(), first.Token())
		}
		if early := time.Until(first.Deadline().Add(margin)); early > 0 {
			t.Errorf("it led %v before the lease was over", early)
		}
		synctest.Wait()
		c.spans()
	})
}

// The machine sleeps while the winning answers are in flight: the lease is over, or almost over.
func TestAcquire_NoWinAfterWaiting(t *testing.T) {
	for _, slept := range []time.Duration{ttl - margin, ttl, 2 * ttl} {
		t.Run(slept.String(), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				least := ttl
				p, machine := c.sleeper("a", election.OnLeader(func(ctx context.Context) {
					term, _ := election.TermFrom(ctx)
					least = min(least, time.Until(term.Deadline()))
				}))
				p.links.Delay(50 * time.Millisecond)
				time.AfterFunc(175*time.Millisecond, func() { machine.Suspend(slept) })
				p.run().leads()
				synctest.Wait() // for the callback
				if least < margin {
					t.Errorf("a term began with %v left", least)
				}
			})
		})
	}
}
