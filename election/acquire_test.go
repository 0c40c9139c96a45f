package election_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestAcquire_ExactlyOneOfManyWins(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		var all []*candidate
		for i := range 5 {
			all = append(all, c.replica(fmt.Sprint("pod-", i), 0))
		}
		first := leader(all...)
		term, _ := first.Term()
		time.Sleep(30 * ttl)
		if now, ok := first.Term(); !ok || now != term {
			t.Errorf("its term is over: %v", c.spans())
		}
		for _, p := range all {
			if p.IsLeader() != (p == first) {
				t.Errorf("%s leads: %v", p.Name(), p.IsLeader())
			}
			if err := p.Check(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestAcquire_ErrorsBackOffAndRecover(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		c.Kill(0)
		c.Kill(1)
		c.Kill(2)
		a := c.replica("a", 0) // down at the start
		time.Sleep(20 * time.Second)
		if err := a.Check(); err != nil {
			t.Errorf("Check fails because Redis does not answer: %v", err)
		}
		for i := range 3 {
			c.Restart(i)
		}
		a.leads()
		c.Hang()
		time.Sleep(30 * time.Second)
		if a.IsLeader() {
			t.Error("leads through an outage")
		}
		c.Heal()
		a.leads()
		for i := range 3 {
			c.Wipe(i)
		}
		time.Sleep(2 * ttl)
		a.leads()
	})
}

func TestAcquire_HeldIsNotTaken(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0)
		term := a.leads()
		held := 0
		c.candidate("b", election.OnLeader(func(context.Context) { t.Error("called") }),
			election.WithHooks(election.Hooks{Attempt: func(_ time.Duration, err error) {
				want.Err(t, err, redlock.ErrHeld)
				held++
			}})).run()
		time.Sleep(5 * ttl)
		synctest.Wait()
		if now, ok := a.Term(); !ok || now != term {
			t.Error("the leader changed")
		}
		if held == 0 || held > 20 {
			t.Errorf("asked %d times in five TTLs", held)
		}
	})
}

// The holder's TTL counts: a candidate with a shorter one does not win earlier.
func TestAcquire_TheHoldersTTLIsRespected(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0)
		term := a.leads()
		b := c.replica("b", 0, election.WithTTL(ttl/5))
		time.Sleep(ttl)
		a.links.Hang()
		<-term.Context().Done()
		b.leads()
		if early := time.Until(term.Deadline().Add(margin)); early > 0 {
			t.Errorf("b led %v before the lease was over", early)
		}
	})
}

func TestAcquire_ElectionsAreIsolated(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		var all []*candidate
		for _, name := range []string{"x", "x:1", "xy", "lock:x"} {
			locker, links := c.Locker()
			p := c.candidateOf(locker, links, name, name).run()
			p.leads()
			all = append(all, p)
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
// like any other candidate, and its term is a new one.
func TestAcquire_OwnLeftoverKeyIsANewTerm(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a := c.replica("a", 0)
		first := a.leads()
		a.links.Cut() // for good
		again := c.replica("a", 0)
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

func TestAcquire_SameIdentityTwiceDoesNotMakeTwoLeaders(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		a, b := c.replica("twin", time.Second), c.replica("twin", time.Second)
		for range 5 {
			first := leader(a, b)
			time.Sleep(2 * ttl)
			if a.IsLeader() == b.IsLeader() {
				t.Fatalf("a leads: %v, b: %v", a.IsLeader(), b.IsLeader())
			}
			first.resigned(nil)
		}
		if got := c.spans(); len(got) != 5 {
			t.Errorf("%d terms", len(got))
		}
	})
}

func TestAcquire_UnresponsiveMinorityCostsNoTime(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		c.Hang(0)
		c.Kill(1)
		began := time.Now()
		c.replica("a", 0).leads()
		if took := time.Since(began); took > 10*time.Millisecond {
			t.Errorf("it led after %v", took)
		}
	})
}

func TestAcquire_FailedAttemptLeavesNothing(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		all := []*candidate{c.replica("a", 0), c.replica("b", 0), c.replica("c", 0)}
		for range 5 {
			leader(all...).resigned(nil)
			time.Sleep(ttl)
		}
		won := leader(all...)
		synctest.Wait()
		for i := range c.N {
			if value := records.Default.Holder(t, lockX, c.Raw()[i]); !strings.HasSuffix(value, "at "+won.id) {
				t.Errorf("node %d has %q while %s leads", i, value, won.id)
			}
		}
		for _, p := range all {
			p.stop()
			<-p.ended
		}
		time.Sleep(2 * nodeTimeout)
		if n := c.held(); n > 0 {
			t.Errorf("%d nodes have a lock that nobody holds", n)
		}
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
				if least < margin {
					t.Errorf("a term began with %v left", least)
				}
			})
		})
	}
}
