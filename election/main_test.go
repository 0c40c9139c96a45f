package election_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
)

func TestMain(m *testing.M) {
	logging.Disable() // go-redis reports each failed dial on its own
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// With the TTL of these tests, 10 s, the rest of the settings is this.
const (
	ttl         = 10 * time.Second
	every       = ttl / 3
	margin      = ttl / 5
	nodeTimeout = 200 * time.Millisecond
	validFor    = ttl - ttl/100 - 2*time.Millisecond

	lockKey = "{redlock}:lock:x"
)

// cluster is n nodes in a bubble of virtual time, and what its candidates do.
type cluster struct {
	*nodetest.Cluster
	t     *testing.T
	n     int
	nodes *redlocktest.Nodes
	start time.Time

	mu    sync.Mutex // guards terms
	terms []span
}

// span is one invocation of a callback: its context's life and its own.
type span struct {
	who              string
	token            uint64
	from, done, till time.Time
	lost             bool
}

func bubble(t *testing.T, n int, test func(t *testing.T, c *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.New(t, n, redlock.WithTTL(ttl))
		test(t, &cluster{Cluster: nodes.Engine(), t: t, n: n, nodes: nodes, start: time.Now()})
	})
}

// candidate is one process.
type candidate struct {
	*election.Elector
	c       *cluster
	id      string
	process *redlocktest.Process
	locker  *redlock.Locker
	stop    context.CancelFunc // ends Run's context
	ended   chan struct{}      // closed when Run has returned err
	err     error
}

// candidate makes a process that can run.
func (c *cluster) candidate(id string, opts ...election.Option) *candidate {
	c.t.Helper()
	return c.candidateIn("x", id, opts...)
}

// candidateIn is for another election than x.
func (c *cluster) candidateIn(name, id string, opts ...election.Option) *candidate {
	c.t.Helper()
	p := c.nodes.Process()
	return c.candidateOf(p.Locker(), p, name, id, opts...)
}

func (c *cluster) candidateOf(
	locker *redlock.Locker, process *redlocktest.Process, name, id string, opts ...election.Option,
) *candidate {
	c.t.Helper()
	e, err := election.New(locker, name,
		append([]election.Option{election.WithIdentity(id, "at "+id)}, opts...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	return &candidate{Elector: e, c: c, id: id, process: process, locker: locker}
}

// run starts Run; the test's end stops it and waits.
func (p *candidate) run() *candidate {
	ctx, cancel := context.WithCancel(context.Background())
	p.stop, p.ended = cancel, make(chan struct{})
	go func() {
		defer close(p.ended)
		p.err = p.Run(ctx)
	}()
	p.c.t.Cleanup(func() {
		p.c.Heal() // or it would wait for what it has asked nodes that hang
		cancel()
		<-p.ended
	})
	return p
}

// replica makes and runs a process whose only callback records its terms and returns lag after its
// context has ended.
func (c *cluster) replica(id string, lag time.Duration, opts ...election.Option) *candidate {
	c.t.Helper()
	p := c.candidate(id, append([]election.Option{election.OnLeader(c.record(id, lag))}, opts...)...)
	return p.run()
}

func (c *cluster) record(id string, lag time.Duration) func(context.Context) {
	return func(ctx context.Context) {
		t, _ := election.TermFrom(ctx)
		s := span{who: id, token: t.Token(), from: time.Now()}
		<-ctx.Done()
		s.done, s.lost = time.Now(), errors.Is(context.Cause(ctx), election.ErrLost)
		time.Sleep(lag)
		s.till = time.Now()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.terms = append(c.terms, s)
	}
}

// spans returns the terms that are over, oldest first, after checking what must always hold. Work that
// outlives a lost lease is told after that of the next term, so they are put in the order of their begin.
func (c *cluster) spans() []span {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.SortStableFunc(c.terms, func(a, b span) int { return a.from.Compare(b.from) })
	for i := 1; i < len(c.terms); i++ {
		a, b := c.terms[i-1], c.terms[i]
		over := a.till
		if lease := a.done.Add(margin); a.lost && lease.Before(over) {
			over = lease // nothing more can be held
		}
		if b.from.Before(over) {
			c.t.Errorf("%s led from %v, while %s led until %v and worked until %v",
				b.who, c.at(b.from), a.who, c.at(a.done), c.at(a.till))
		}
		if b.token <= a.token {
			c.t.Errorf("token %d of %s after %d of %s", b.token, b.who, a.token, a.who)
		}
	}
	return append([]span(nil), c.terms...)
}

func (c *cluster) at(t time.Time) time.Duration { return t.Sub(c.start) }

// keys counts the nodes that have the election's lock.
func (c *cluster) keys() int {
	n := 0
	for i := range c.n {
		if c.Node(i).Exists(lockKey) {
			n++
		}
	}
	return n
}

// leads waits until the candidate leads.
func (p *candidate) leads() *election.Term {
	p.c.t.Helper()
	for range 100_000 {
		if t, ok := p.Term(); ok {
			return t
		}
		time.Sleep(time.Millisecond)
	}
	p.c.t.Fatal("does not lead after 100 s")
	return nil
}

// leader waits until one of the candidates leads, and returns it.
func leader(ps ...*candidate) *candidate {
	ps[0].c.t.Helper()
	for range 100_000 {
		for _, p := range ps {
			if p.IsLeader() {
				return p
			}
		}
		time.Sleep(time.Millisecond)
	}
	ps[0].c.t.Fatal("nobody leads after 100 s")
	return nil
}

func wantErr(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Fatalf("got error %v, want one that is %v", err, target)
		}
	}
}

func wantText(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(fmt.Sprint(err), part) {
			t.Errorf("got error %q, want %q in it", err, part)
		}
	}
}
