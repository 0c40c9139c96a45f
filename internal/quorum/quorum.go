package quorum

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	Scripts []*Source        // loaded together when a node turns out to have none

	// Seen is called with each reply and each failure, before any round sees it, on any goroutine; but not with an error that
	// a node answers to a script that is [Script.Optional].
	Seen func(node int, e Exchange)

	// Inspection is made of a node when it is first reached and when it is reached again. Its error is the node's
	// answer to everything until one passes.
	Inspection Inspection
}

// Exchange is one command and its reply, whatever calls travelled in it.
type Exchange struct {
	Script string
	Header
	Err            error
	Sent, Received time.Time
}

// Inspection is what a node is asked before anything else. The zero value asks nothing.
type Inspection struct {
	command command
	judge   func(node int, r result) error
}

// NewInspection makes an Inspection: call is asked, and judge says why the node must not be asked anything else.
func NewInspection[T any](call Call[T], judge func(node int, a Answer[T]) error) Inspection {
	return Inspection{call.command, func(node int, r result) error {
		a := Answer[T]{Over: true, Err: r.err, Header: r.reply.Header, Sent: r.sent, Received: r.received}
		if a.Err == nil {
			a.Value, a.Err = call.command.script.read(&r.reply)
		}
		return judge(node, a)
	}}
}

// Quorum is a fixed list of nodes. Its methods are safe for concurrent use.
type Quorum struct {
	config Config
	nodes  []*node
}

// New makes a Quorum of clients; addrs name them in errors.
func New(clients []redis.UniversalClient, addrs []string, config Config) *Quorum {
	q := &Quorum{config: config}
	for i, client := range clients {
		q.nodes = append(q.nodes, newNode(&q.config, i, addrs[i], client))
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
func (q *Quorum) Inspect(i int) { q.nodes[i].setUninspected() }

// Slow reports that node i did not answer its last call, or has been asked for longer than it usually takes, 2 ms at
// least.
func (q *Quorum) Slow(i int) bool { return q.nodes[i].slow() }

// Idle waits until no call is under way, or ctx is done. Its error then names the nodes whose calls still run; they end
// when their clients give up.
func (q *Quorum) Idle(ctx context.Context) error {
	return q.await(ctx, func(n *node) <-chan struct{} { return n.idle() })
}

// Close refuses further calls, and waits as Idle does until those under way are over and the connections given back.
func (q *Quorum) Close(ctx context.Context) error {
	for _, n := range q.nodes {
		n.close()
	}
	return q.await(ctx, func(n *node) <-chan struct{} { return n.gone() })
}

func (q *Quorum) await(ctx context.Context, over func(*node) <-chan struct{}) error {
	var busy []string
	for _, n := range q.nodes {
		done := over(n)
		select {
		case <-done:
		case <-ctx.Done():
			if n.isBusy() {
				busy = append(busy, n.addr)
			} else {
				<-done // at once
			}
		}
	}
	if len(busy) > 0 {
		return fmt.Errorf("calls still under way on %s: %w", strings.Join(busy, ", "), context.Cause(ctx))
	}
	return nil
}
