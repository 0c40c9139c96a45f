package election_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
)

// The most important guarantee: whatever happens to a leader's nodes, its context ends at least the margin before anybody else
// can lead.
func TestKeep_ContextIsDoneTheMarginBeforeTheLeaseExpires(t *testing.T) {
	const lag = margin / 4
	for name, of := range map[string]struct {
		fault func(p *candidate)
		least time.Duration // lag, if the release that follows the work can arrive
	}{
		"cut from majority":  {func(p *candidate) { p.links.Cut(0, 1) }, margin},
		"majority hangs":     {func(p *candidate) { p.links.Hang(1, 2) }, margin},
		"replies are lost":   {func(p *candidate) { p.links.DropReplies() }, lag},
		"slower than usable": {func(p *candidate) { p.links.Delay(nodeTimeout) }, lag},
		"majority loses its state": {func(p *candidate) {
			for i := range 2 {
				p.c.Wipe(i)
			}
		}, margin},
		"cut from a majority that comes back empty": {func(p *candidate) {
			p.links.Cut(0, 1)
			for i := range 2 {
				p.c.Kill(i)
				p.c.Wipe(i)
				p.c.Restart(i)
			}
		}, margin},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.replica("a", lag, election.WithStandby(time.Second)) // so that b leads next
				term := a.leads()
				b := c.replica("b", 0)
				time.Sleep(ttl + 7*time.Millisecond)
				of.fault(a)
				select {
				case <-term.Context().Done():
				case <-time.After(2 * ttl):
					t.Fatal("the term goes on")
				}
				if term.Valid() || a.IsLeader() {
					t.Error("still leading")
				}
				want.Err(t, context.Cause(term.Context()), election.ErrLost)
				a.stop() // or its campaign would keep the old list of nodes in use where it hears one of them
				b.leads()
				since := time.Now()
				synctest.Wait()
				got := c.spans()
				if len(got) != 1 {
					t.Fatalf("terms %v", got)
				}
				if gap := since.Sub(got[0].done); gap < of.least {
					t.Errorf("the next leader led %v after the context was done, want at least %v", gap, of.least)
				}
			})
		})
	}
}

func TestKeep_RenewalAttemptsAreBounded(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		p := c.candidate("a", election.WithRenewal(every)).run()
		term := p.leads()
		time.Sleep(every / 2)
		won := c.Requests(0)
		time.Sleep(8 * every)
		if got := c.Requests(0) - won; got < 8 || got > 11 {
			t.Errorf("%d extensions in eight intervals, with one to three looks at the node", got)
		}
		var asked atomic.Int32
		c.SetPreHook(0, func(node *server.Peer, cmd string, args ...string) bool {
			if cmd == "EVALSHA" && strings.Contains(strings.Join(args, " "), "election:x") { // no look at the node
				asked.Add(1)
			}
			node.WriteError("LOADING Redis is loading the dataset in memory")
			return true
		})
		// There are two renewals between the last successful one and the stop deadline.
		time.Sleep(time.Until(term.Deadline()) - time.Millisecond)
		if got := asked.Load(); got < 4 || got > 6 {
			t.Errorf("%d attempts of two renewals, want three each, except after the stop deadline", got)
		}
	})
}

// A release is sent before, with or after a renewal in flight. Whichever a node gets first, no key comes back.
func TestKeep_RenewalRacingWithReleaseNeverResurrects(t *testing.T) {
	const trip = 30 * time.Millisecond // one way
	for early := -trip; early <= 3*trip; early += trip {
		t.Run(early.String(), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				a := c.replica("a", 0)
				a.leads()
				for i := range c.N {
					a.links.Delay(trip+time.Duration(i)*5*time.Millisecond, i)
				}
				time.Sleep(every - early)
				a.stop()
				<-a.ended
				time.Sleep(2 * nodeTimeout)
				if n := c.held(); n > 0 {
					t.Errorf("%d nodes have the lock", n)
				}
				time.Sleep(every)
				if n := c.held(); n > 0 {
					t.Errorf("the lock came back on %d nodes", n)
				}
			})
		})
	}
}
