package election_test

import (
	"context"
	"errors"
	"flag"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
	"github.com/redlockfx/redlockfx/redlock"
)

// rounds and rapid.checks are small, so that each run of the tests is brief; make soak raises both.
var rounds = flag.Int("election.rounds", 1, "play series of random terms that many times as long")

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "4"); err != nil {
		panic(err)
	}
	testmain.Run(m)
}

// With the TTL of these tests, 10 s, the other settings are these.
const (
	ttl         = 10 * time.Second
	every       = ttl / 3
	margin      = ttl / 5
	nodeTimeout = 200 * time.Millisecond
	validFor    = ttl - ttl/100 - 2*time.Millisecond

	lockX = "election:x"
)

// leaderWithin is how long a test waits for a leader.
const leaderWithin = 100 * time.Second

// cluster has the nodes of a bubble, and the terms of its candidates.
type cluster struct {
	*bubble.Cluster

	mu    sync.Mutex // guards terms
	terms []span
}

// span is one call of a callback: the life of its context, and its own.
type span struct {
	who              string
	token            uint64
	from, done, till time.Time
	lost             bool
}

// inBubble runs test in a bubble with n nodes, in parallel with other tests.
func inBubble(t *testing.T, n int, test func(t *testing.T, c *cluster)) {
	t.Helper()
	t.Parallel() // bubbles share nothing
	inSeries(t, n, test)
}

// inSeries is inBubble for a test that needs several bubbles, one after the other.
func inSeries(t *testing.T, n int, test func(t *testing.T, c *cluster)) {
	t.Helper()
	bubble.Run(t, n, func(t *testing.T, nodes *bubble.Cluster) {
		test(t, &cluster{Cluster: nodes})
	}, redlock.WithTTL(ttl))
}

// candidate is one process.
type candidate struct {
	*election.Elector
	c      *cluster
	id     string
	links  *nodetest.Links
	locker *redlock.Locker
	stop   context.CancelFunc // ends Run's context
	ended  chan struct{}      // closed when Run has returned err
	err    error
}

// candidate returns a process that can run.
func (c *cluster) candidate(id string, opts ...election.Option) *candidate {
	c.T.Helper()
	locker, links := c.Locker()
	return c.candidateOf(locker, links, "x", id, opts...)
}

// sleeper returns a process that can run, on a machine that can sleep.
func (c *cluster) sleeper(id string, opts ...election.Option) (*candidate, *clock.Clock) {
	c.T.Helper()
	machine := clock.New()
	locker, links := c.Locker(inside.WithClock(machine).(redlock.Option))
	return c.candidateOf(locker, links, "x", id, opts...), machine
}

func (c *cluster) candidateOf(
	locker *redlock.Locker, links *nodetest.Links, name, id string, opts ...election.Option,
) *candidate {
	c.T.Helper()
	e, err := election.New(locker, name,
		append([]election.Option{election.WithIdentity(id, "at "+id)}, opts...)...)
	if err != nil {
		c.T.Fatal(err)
	}
	return &candidate{Elector: e, c: c, id: id, links: links, locker: locker}
}

// run starts Run. The end of the test stops it and waits.
func (p *candidate) run() *candidate {
	ctx, cancel := context.WithCancel(context.Background())
	p.stop, p.ended = cancel, make(chan struct{})
	go func() {
		defer close(p.ended)
		p.err = p.Run(ctx)
	}()
	p.c.T.Cleanup(func() {
		p.c.Heal() // Run waits for calls to nodes, which may hang
		cancel()
		<-p.ended
	})
	return p
}

// again stops the candidate and makes it ready to run once more.
func (p *candidate) again() {
	p.stop()
	<-p.ended
	p.run()
}

// replica starts a process whose only callback records its terms, and returns lag after its context has ended.
func (c *cluster) replica(id string, lag time.Duration, opts ...election.Option) *candidate {
	c.T.Helper()
	p := c.candidate(id, append([]election.Option{election.OnLeader(c.record(id, lag))}, opts...)...)
	return p.run()
}

func (c *cluster) record(id string, lag time.Duration) func(context.Context) {
	return func(ctx context.Context) {
		t, _ := election.TermFrom(ctx)
		s := span{who: id, token: t.Token(), from: time.Now()}
		<-ctx.Done()
		s.done = time.Now()
		time.Sleep(lag)
		s.till = time.Now()
		s.lost = errors.Is(context.Cause(ctx), election.ErrLost) || !t.Valid() // a drain may lose the lease as well
		c.mu.Lock()
		defer c.mu.Unlock()
		c.terms = append(c.terms, s)
	}
}

// spans checks the invariants and returns the terms that are over, oldest first. Work that outlives a lost lease is recorded
// after the next term, so the terms are sorted by their start.
func (c *cluster) spans() []span {
	c.T.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.SortStableFunc(c.terms, func(a, b span) int { return a.from.Compare(b.from) })
	for i := 1; i < len(c.terms); i++ {
		a, b := c.terms[i-1], c.terms[i]
		over := a.till
		if lease := a.done.Add(margin); a.lost && lease.Before(over) {
			over = lease // no lease can be held after that
		}
		if b.from.Before(over) {
			c.T.Errorf("%s led from %v, while %s led until %v and worked until %v",
				b.who, c.At(b.from), a.who, c.At(a.done), c.At(a.till))
		}
		if b.token <= a.token {
			c.T.Errorf("token %d of %s after %d of %s", b.token, b.who, a.token, a.who)
		}
	}
	return append([]span(nil), c.terms...)
}

// held counts the nodes that have the lock of election x.
func (c *cluster) held() int {
	c.T.Helper()
	return records.Default.On(c.T, lockX, c.Raw()...)
}

// leads waits until the candidate leads.
func (p *candidate) leads() (term *election.Term) {
	p.c.T.Helper()
	bubble.Await(p.c.T, p.id+" leads", leaderWithin, func() (ok bool) {
		term, ok = p.Term()
		return ok
	})
	return term
}

// leader waits until one of the candidates leads, and returns it.
func leader(ps ...*candidate) *candidate {
	t, i := ps[0].c.T, -1
	t.Helper()
	bubble.Await(t, "one of them leads", leaderWithin, func() bool {
		i = slices.IndexFunc(ps, func(p *candidate) bool { return p.IsLeader() })
		return i >= 0
	})
	return ps[i]
}
