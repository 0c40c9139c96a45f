package quorum

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Config is the configuration of a Quorum.
type Config struct {
	Timeout time.Duration    // how long a node may take to answer
	Now     func() time.Time // the clock for Answer's times
	Scripts []*Source        // loaded together when a node lacks one

	// Seen is called with each reply and each failure, on any goroutine, before any round receives it. Errors that a
	// node returns for a [Script.Optional] script are not reported.
	Seen func(node int, e Exchange)

	// Inspection is run when a node is first reached and when it is reached again. While it fails, its error is the
	// answer to every call.
	Inspection Inspection
}

// Exchange is one command, which may carry several calls, and its reply.
type Exchange struct {
	Script string
	Header
	Err            error
	Sent, Received time.Time
}

// Inspection is the first call to a node. The zero value does nothing.
type Inspection struct {
	command command
	judge   func(node int, r result) error
}

// NewInspection makes an Inspection. It sends call; judge returns why the node must not be asked anything else, or nil.
func NewInspection[T any](call Call[T], judge func(node int, a Answer[T]) error) Inspection {
	return Inspection{call.command, func(node int, r result) error {
		return judge(node, answerOf(&r, call.command.script.read))
	}}
}

// Quorum is a fixed list of nodes. Its methods are safe for concurrent use.
type Quorum struct {
	config  Config
	nodes   []*node
	waiters sync.Pool // of *waiter
}

// New makes a Quorum of clients. addrs name them in errors.
func New(clients []redis.UniversalClient, addrs []string, config Config) *Quorum {
	q := &Quorum{config: config, waiters: sync.Pool{New: newWaiter}}
	for i, client := range clients {
		q.nodes = append(q.nodes, newNode(&q.config, i, addrs[i], client))
	}
	return q
}

// Size returns the number of nodes.
func (q *Quorum) Size() int { return len(q.nodes) }

// Majority returns the smallest number of nodes that is more than half.
func (q *Quorum) Majority() int { return len(q.nodes)/2 + 1 }

// Timeout returns how long a node may take to answer.
func (q *Quorum) Timeout() time.Duration { return q.config.Timeout }

// Addr returns the name of node i in errors.
func (q *Quorum) Addr(i int) string { return q.nodes[i].addr }

// Inspect makes node i be inspected again before its next call.
func (q *Quorum) Inspect(i int) { q.nodes[i].inspect() }

// Slow reports whether node i did not answer its last call, or takes longer than the hedge delay now.
func (q *Quorum) Slow(i int) bool { return q.nodes[i].slow() }

// Idle waits until no call is under way, or ctx is done. In the latter case, the error names the nodes whose calls
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
		return fmt.Errorf("calls still under way on %s: %w", strings.Join(busy, ", "), context.Cause(ctx))
	}
	return nil
}

// Close refuses further calls. Like Idle, it waits until those under way have ended. Then the connections are closed.
func (q *Quorum) Close(ctx context.Context) error {
	for _, n := range q.nodes {
		n.close()
	}
	err := q.Idle(ctx)
	if err == nil {
		for _, n := range q.nodes {
			n.running.Wait()
		}
	}
	return err
}
