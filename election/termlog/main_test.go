package termlog_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/election/termlog"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
	"github.com/redlockfx/redlockfx/redlock"
)

func TestMain(m *testing.M) { testmain.Run(m) }

const (
	ttl         = 10 * time.Second
	every       = ttl / 3 // one renewal
	nodeTimeout = 200 * time.Millisecond
)

// cluster has the nodes of a bubble, and the hooks that its candidates share.
type cluster struct {
	*bubble.Cluster
	hooks election.Hooks
}

// inBubble runs test in a bubble with n nodes, in parallel with other tests.
func inBubble(t *testing.T, n int, test func(t *testing.T, c *cluster)) {
	t.Helper()
	t.Parallel() // bubbles share nothing
	bubble.Run(t, n, func(t *testing.T, nodes *bubble.Cluster) { test(t, &cluster{nodes, termlog.Hooks()}) }, redlock.WithTTL(ttl))
}

// candidate is one process, whose terms are recorded.
type candidate struct {
	*election.Elector
	c      *cluster
	links  *nodetest.Links
	locker *redlock.Locker
	stop   context.CancelFunc // ends Run's context
	ended  chan struct{}      // closed when Run has returned
}

// candidate returns a process that can run.
func (c *cluster) candidate(id string) *candidate {
	c.T.Helper()
	locker, links := c.Locker()
	return c.candidateOf(locker, links, id)
}

func (c *cluster) candidateOf(locker *redlock.Locker, links *nodetest.Links, id string, opts ...election.Option) *candidate {
	c.T.Helper()
	opts = append(opts, election.WithIdentity(id, ""), election.WithHooks(c.hooks))
	e, err := election.New(locker, "x", opts...)
	if err != nil {
		c.T.Fatal(err)
	}
	return &candidate{Elector: e, c: c, links: links, locker: locker}
}

// run starts Run. The end of the test stops it and waits.
func (p *candidate) run() *candidate {
	ctx, cancel := context.WithCancel(context.Background())
	p.stop, p.ended = cancel, make(chan struct{})
	go func() {
		defer close(p.ended)
		if err := p.Run(ctx); err != nil {
			p.c.T.Error(err)
		}
	}()
	p.c.T.Cleanup(func() {
		p.c.Heal() // Run waits for calls to nodes, which may hang
		cancel()
		<-p.ended
	})
	return p
}

// leads waits until the candidate leads.
func (p *candidate) leads() (term *election.Term) {
	p.c.T.Helper()
	bubble.Await(p.c.T, p.Identity()+" leads", 10*ttl, func() (ok bool) {
		term, ok = p.Term()
		return ok
	})
	return term
}
