package election_test

import (
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
)

func (c *cluster) crowd(n int, opts ...election.Option) []*candidate {
	var all []*candidate
	for i := range n {
		all = append(all, c.replica(fmt.Sprint("pod-", i), 0, opts...))
	}
	return all
}

// Twenty candidates start at once, on five nodes without a lock. One wins, and leads from then on. That is nothing to warn of.
func TestAcquire_SplitVoteConverges(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		for i := range 5 {
			c.Delay(500*time.Microsecond, i)
		}
		began := time.Now()
		core, logs := observer.New(zap.WarnLevel)
		all := c.crowd(20, election.WithLogger(zap.New(core)))
		first := leader(all...)
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("nobody led for %v", took)
		}
		term, _ := first.Term()
		time.Sleep(3 * ttl)
		if now, ok := first.Term(); !ok || now != term {
			t.Errorf("its term is over: %v", c.spans())
		}
		for _, p := range all {
			if err := p.Check(); err != nil || p.IsLeader() != (p == first) {
				t.Errorf("%s leads: %v, and its check says %v", p.id, p.IsLeader(), err)
			}
		}
		for _, line := range logs.All() {
			t.Errorf("%s: %v", line.Message, line.ContextMap()["error"])
		}
	})
}

// Twenty followers that wake at once split the votes at most once or twice.
func TestHandover_ManyFollowersSettleOnOneWithinMilliseconds(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		for i := range 5 {
			c.Delay(500*time.Microsecond, i) // a round trip takes 1 ms
		}
		all := c.crowd(20, election.WithCooldown(time.Second))
		old := leader(all...)
		time.Sleep(time.Second)
		before := c.Asked()
		since := old.resigned(nil)
		next := leader(all...)
		if took := time.Since(since); took > 50*time.Millisecond {
			t.Errorf("nobody led for %v", took)
		}
		if next == old {
			t.Error("the leader that resigned leads again")
		}
		time.Sleep(time.Second)
		if asked := c.Asked() - before; asked > 400 {
			t.Errorf("%d requests for one handover", asked)
		}
	})
}

func TestLife_FollowersCostNextToNothing(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		const followers, long = 8, 4 * ttl
		a := c.replica("a", 0)
		a.leads()
		c.crowd(followers)
		time.Sleep(ttl)
		before := c.Asked()
		time.Sleep(long)
		asked := c.Asked() - before - 5*int(long/every) // without the leader's own
		// Each asks when the lease that it knows is over. At the last renewal, that was a whole TTL ahead.
		if each := float64(asked) / followers / long.Seconds(); each > 1/(ttl-every).Seconds() {
			t.Errorf("%.3f requests a second for each follower, over all nodes", each)
		}
	})
}

func TestLife_SubSecondTTLWorks(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		const brief = redlock.MinTTL
		candidate := func(id string) *candidate {
			l, links := c.Locker(redlock.WithNodeTimeout(20 * time.Millisecond))
			return c.candidateOf(l, links, "x", id, election.WithTTL(brief), election.OnLeader(c.record(id, 0))).run()
		}
		a, b := candidate("a"), candidate("b")
		p := leader(a, b)
		time.Sleep(30 * brief)
		if !p.IsLeader() || len(c.spans()) > 0 {
			t.Fatalf("terms %v are over", c.spans())
		}
		other := a
		if p == a {
			other = b
		}
		p.links.Hang()
		since := time.Now()
		other.leads()
		if took := time.Since(since); took > brief+30*time.Millisecond {
			t.Errorf("the next leader led after %v", took)
		}
		p.links.Heal()
		if got := c.spans(); len(got) != 1 {
			t.Errorf("terms %v", got)
		}
	})
}
