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
	"github.com/redlockfx/redlockfx/internal/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
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
	start time.Time
	ends  []func() // what the processes have to do at their end, in reverse order

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
		c := &cluster{Cluster: nodetest.Start(n), t: t, n: n}
		defer c.Close()
		c.waitForGuards()
		c.start = time.Now()
		test(t, c)
	})
}

// Close ends the processes and then the nodes.
func (c *cluster) Close() {
	c.Heal() // or each process would wait a minute for the nodes
	for _, end := range slices.Backward(c.ends) {
		end()
	}
	c.Cluster.Close()
}

// waitForGuards has the nodes used for the first time, and waits until they grant.
func (c *cluster) waitForGuards() {
	c.t.Helper()
	l := c.locker(c.Links())
	_, err := l.TryAcquire(c.t.Context(), "first")
	wantErr(c.t, err, redlock.ErrGuarded)
	synctest.Wait() // all nodes, not only a majority
	time.Sleep(ttl)
}

// locker makes a process's Locker, which is closed after the test.
func (c *cluster) locker(links *nodetest.Links, opts ...redlock.Option) *redlock.Locker {
	c.t.Helper()
	l, err := redlock.New(links.Clients(), append(opts, redlock.WithTTL(ttl))...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.ends = append(c.ends, func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = l.Close(ctx) // what a test leaves held is its own affair
	})
	return l
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

// candidate makes a process that can run.
func (c *cluster) candidate(id string, opts ...election.Option) *candidate {
	c.t.Helper()
	return c.candidateIn("x", id, opts...)
}

// candidateIn is for another election than x.
func (c *cluster) candidateIn(name, id string, opts ...election.Option) *candidate {
	c.t.Helper()
	links := c.Links()
	return c.candidateOf(c.locker(links), links, name, id, opts...)
}

func (c *cluster) candidateOf(
	locker *redlock.Locker, links *nodetest.Links, name, id string, opts ...election.Option,
) *candidate {
	c.t.Helper()
	e, err := election.New(locker, name,
		append([]election.Option{election.WithIdentity(id, "at "+id)}, opts...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	return &candidate{Elector: e, c: c, id: id, links: links, locker: locker}
}

// run starts Run; the test's end stops it and waits.
func (p *candidate) run() *candidate {
	ctx, cancel := context.WithCancel(context.Background())
	p.stop, p.ended = cancel, make(chan struct{})
	go func() {
		defer close(p.ended)
		p.err = p.Run(ctx)
	}()
	p.c.ends = append(p.c.ends, func() {
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
