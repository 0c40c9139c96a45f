package quorum

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	// ErrNoAnswer says that a node's call is not over yet: it may still take effect.
	ErrNoAnswer = errors.New("no answer in time")
	// ErrUnsent says that a node's call was never sent: it can have no effect.
	ErrUnsent = errors.New("not sent: earlier calls are still waiting for this node")
	// ErrClosed says that the call came after Close, and was not sent.
	ErrClosed = errors.New("not sent: closed")
)

// Config is how a Quorum works.
type Config struct {
	Timeout time.Duration    // how long a node may take to answer
	Now     func() time.Time // the clock of Answer
	Scripts []*Script        // those that calls will use

	// Observe sees every answer before its round does. It may be called on many goroutines.
	Observe func(node int, s *Script, a Answer)

	// Inspection is asked of a node when it is first reached and when it is reached again, and
	// Inspected judges the answer: an error is the node's answer to everything until an inspection
	// passes. No inspection if Inspected is nil.
	Inspection Call
	Inspected  func(node int, a Answer) error
}

// Quorum is a fixed list of nodes. Its methods are safe for concurrent use.
type Quorum struct {
	config Config
	nodes  []*node
}

// New makes a Quorum of clients; addrs name them in errors. No call waits longer than the timeout;
// where a client does not end its own reads and writes with the context, and can be told another
// way, they end by then too.
func New(clients []redis.UniversalClient, addrs []string, config Config) *Quorum {
	q := &Quorum{config: config}
	for i, client := range clients {
		if single, ok := client.(*redis.Client); ok && !single.Options().ContextTimeoutEnabled {
			// It shares the pool of connections, but in go-redis 9.23 not the client's hooks.
			client = single.WithTimeout(config.Timeout)
		}
		n := &node{
			config: &q.config, index: i, addr: addrs[i], client: client,
			stranger: config.Inspected != nil,
		}
		n.worker = n.work
		q.nodes = append(q.nodes, n)
	}
	return q
}

// Size is the number of nodes.
func (q *Quorum) Size() int { return len(q.nodes) }

// Majority is the number of nodes that no two disjoint sets can both have.
func (q *Quorum) Majority() int { return len(q.nodes)/2 + 1 }

// Timeout is how long a node may take to answer.
func (q *Quorum) Timeout() time.Duration { return q.config.Timeout }

// Addr names node i.
func (q *Quorum) Addr(i int) string { return q.nodes[i].addr }

// Inspect has node i inspected again before it is asked anything else.
func (q *Quorum) Inspect(i int) {
	n := q.nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stranger = true
}

// Overdue tells that node i did not answer its last call, or has been asked for longer than it
// usually takes, 2 ms at least.
func (q *Quorum) Overdue(i int) bool { return q.nodes[i].overdue() }

// Ask sends call to all nodes and returns when judge says that the answers decide the outcome,
// when all are in, or at the node timeout. If ctx ends before that, its cause is returned as well;
// calls already sent go on. judge is called under the round's lock: it must be quick and pure.
func (q *Quorum) Ask(
	ctx context.Context, call Call, judge func([]Answer) bool,
) (*Round, error) {
	r := newRound(ctx, q.nodes, call, judge)
	r.Send()
	return r, r.Wait(ctx)
}

// AskAfter is [Quorum.Ask], but each node is asked only when after calls send for it, once, now or
// later, on whatever goroutine.
func (q *Quorum) AskAfter(
	ctx context.Context, call Call, judge func([]Answer) bool, after func(send func(node int)),
) (*Round, error) {
	r := newRound(ctx, q.nodes, call, judge)
	after(r.send)
	return r, r.Wait(ctx)
}

// AskFirst is [Quorum.Ask], but one node is asked before all others: they are asked when goOn says so
// of its answer, or when it takes longer than usual, 2 ms at least. Otherwise their calls are never
// sent ([ErrUnsent]).
func (q *Quorum) AskFirst(
	ctx context.Context, call Call, judge func([]Answer) bool, first int, goOn func(Answer) bool,
) (*Round, error) {
	r := newRound(ctx, q.nodes, call, judge)
	// Not a sync.Once: sending ends calls whose time is over, which may come back here, from this round or from another.
	var decided atomic.Bool
	others := func(ask bool) {
		if !decided.CompareAndSwap(false, true) {
			return
		}
		for i := range q.nodes {
			switch {
			case i == first:
			case ask:
				r.send(i)
			default:
				r.finish(i, Answer{Err: ErrUnsent})
			}
		}
	}
	late := time.AfterFunc(q.nodes[first].patience(), func() { others(true) })
	defer late.Stop()
	r.send(first)
	r.Then(func(i int, a Answer) {
		if i == first {
			others(goOn(a))
		}
	})
	err := r.Wait(ctx)
	others(false) // whoever waited has gone
	return r, err
}

// Node prepares call for node i alone; [Round.Send] sends it. Its answer is at index 0.
func (q *Quorum) Node(ctx context.Context, i int, call Call) *Round {
	return newRound(ctx, q.nodes[i:i+1], call, func([]Answer) bool { return true })
}

// AskNode is [Quorum.Ask] for node i alone.
func (q *Quorum) AskNode(ctx context.Context, i int, call Call) (Answer, error) {
	r := q.Node(ctx, i, call)
	r.Send()
	err := r.Wait(ctx)
	return r.Answers()[0], err
}

// Wait returns when the round is decided, at its timeout, or when ctx is done, and then its cause.
func (r *Round) Wait(ctx context.Context) error {
	select {
	case <-r.decided:
	case <-r.ctx.Done():
	case <-ctx.Done():
		select {
		case <-r.decided: // both at once: what was decided counts
		default:
			return context.Cause(ctx)
		}
	}
	return nil
}

// Idle waits until no call is under way, or ctx is done. Its error then names the nodes whose calls
// still run; they end when their clients give up.
func (q *Quorum) Idle(ctx context.Context) error {
	var busy []string
	for _, n := range q.nodes {
		idle := n.idle()
		select {
		case <-idle:
		case <-ctx.Done():
			select {
			case <-idle:
			default:
				busy = append(busy, n.addr)
			}
		}
	}
	if len(busy) > 0 {
		return fmt.Errorf("calls still under way on %s: %w",
			strings.Join(busy, ", "), context.Cause(ctx))
	}
	return nil
}

// Close refuses further calls, and is [Quorum.Idle] for those under way.
func (q *Quorum) Close(ctx context.Context) error {
	for _, n := range q.nodes {
		n.close()
	}
	return q.Idle(ctx)
}
