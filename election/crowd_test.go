package election_test

import (
	"fmt"
	"testing"
	"time"

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

func (c *cluster) requests() int {
	n := 0
	for i := range c.n {
		n += c.Requests(i)
	}
	return n
}

// Twenty who start at once, on five nodes that nobody holds.
func TestAcquire_SplitVoteConverges(t *testing.T) {
	bubble(t, 5, func(t *testing.T, c *cluster) {
		for i := range 5 {
			c.Delay(500*time.Microsecond, i)
		}
		began := time.Now()
		leader(c.crowd(20)...)
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("nobody led for %v", took)
		}
	})
}

// Twenty who are woken at once split the votes at most once or twice.
func TestHandover_ManyFollowersSettleOnOneWithinMilliseconds(t *testing.T) {
	bubble(t, 5, func(t *testing.T, c *cluster) {
		for i := range 5 {
			c.Delay(500*time.Microsecond, i) // a round trip takes 1 ms
		}
		all := c.crowd(20, election.WithCooldown(time.Second))
		for range 3 {
			old := leader(all...)
			time.Sleep(time.Second)
			before := c.requests()
			since := old.resigned(nil)
			next := leader(all...)
			if took := time.Since(since); took > 50*time.Millisecond {
				t.Errorf("nobody led for %v", took)
			}
			if next == old {
				t.Error("the one who resigned leads again")
			}
			time.Sleep(time.Second)
			if asked := c.requests() - before; asked > 400 {
				t.Errorf("%d requests for one handover", asked)
			}
		}
	})
}

func TestLife_FollowersCostNextToNothing(t *testing.T) {
	bubble(t, 5, func(t *testing.T, c *cluster) {
		const followers, long = 50, 6 * ttl
		a := c.replica("a", 0)
		a.leads()
		c.crowd(followers)
		time.Sleep(ttl)
		before := c.requests()
		time.Sleep(long)
		asked := c.requests() - before - 5*int(long/every) // the leader's own
		if each := float64(asked) / followers / long.Seconds(); each > 0.12 {
			t.Errorf("%.3f requests a second for each follower, over all nodes", each)
		}
	})
}

func TestKeep_SustainsOneTerm(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		all := c.crowd(3)
		p := leader(all...)
		term, _ := p.Term()
		time.Sleep(100 * ttl)
		if now, ok := p.Term(); !ok || now != term {
			t.Errorf("term %v after %v", now, 100*ttl)
		}
		if got := c.spans(); len(got) > 0 {
			t.Errorf("terms %v are over", got)
		}
	})
}

func TestLife_SubSecondTTLWorks(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *cluster) {
		const brief = redlock.MinTTL
		candidate := func(id string) *candidate {
			process := c.nodes.Process()
			l := process.Locker(redlock.WithNodeTimeout(20 * time.Millisecond))
			return c.candidateOf(l, process, "x", id, election.WithTTL(brief), election.OnLeader(c.record(id, 0))).run()
		}
		a, b := candidate("a"), candidate("b")
		p := leader(a, b)
		time.Sleep(100 * brief)
		if !p.IsLeader() || len(c.spans()) > 0 {
			t.Fatalf("terms %v are over", c.spans())
		}
		other := a
		if p == a {
			other = b
		}
		p.process.Hang()
		since := time.Now()
		other.leads()
		if took := time.Since(since); took > brief+30*time.Millisecond {
			t.Errorf("the next one led after %v", took)
		}
		p.process.Heal()
		if got := c.spans(); len(got) != 1 {
			t.Errorf("terms %v", got)
		}
	})
}
