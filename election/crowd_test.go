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

// Twenty candidates start at once, on five nodes without a lock, and wake at once when the leader resigns. They split the votes
// once or twice. In between, one leads and the others cost next to nothing. That is nothing to warn of.
func TestAcquire_SplitVoteConverges(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		for i := range 5 {
			c.Delay(500*time.Microsecond, i) // a round trip takes 1 ms
		}
		began := time.Now()
		core, logs := observer.New(zap.WarnLevel)
		var all []*candidate
		for i := range 20 {
			all = append(all, c.replica(fmt.Sprint("pod-", i), 0, election.WithLogger(zap.New(core))))
		}
		first := leader(all...)
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("nobody led for %v", took)
		}
		term, _ := first.Term()
		time.Sleep(ttl)
		const long = 4 * ttl
		before := c.Asked()
		time.Sleep(long)
		asked := c.Asked() - before - 5*int(long/(every-every/16)+1) // without the leader's own, which may be early by that
		// Each asks when the lease that it knows is over. At the last renewal, that was a whole TTL ahead. Twice a minute, each asks
		// each node for an answer on its subscription. Once or twice, it looks at each node.
		if each := float64(asked) / float64(len(all)-1) / long.Seconds(); each > 1/(ttl-every).Seconds()+2*5/60.0+2*5/long.Seconds() {
			t.Errorf("%.3f requests a second for each follower, over all nodes", each)
		}
		if now, ok := first.Term(); !ok || now != term {
			t.Errorf("its term is over: %v", c.spans())
		}
		for _, p := range all {
			if err := p.Check(); err != nil || p.IsLeader() != (p == first) {
				t.Errorf("%s leads: %v, and its check says %v", p.id, p.IsLeader(), err)
			}
		}
		before = c.Asked()
		since := first.resigned(nil)
		next := leader(all...)
		if took := time.Since(since); took > 50*time.Millisecond {
			t.Errorf("nobody led for %v after the first had resigned", took)
		}
		if next == first {
			t.Error("the leader that resigned leads again")
		}
		time.Sleep(time.Second)
		if asked := c.Asked() - before; asked > 400 {
			t.Errorf("%d requests for one handover", asked)
		}
		for _, line := range logs.All() {
			t.Errorf("%s: %v", line.Message, line.ContextMap()["error"])
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
