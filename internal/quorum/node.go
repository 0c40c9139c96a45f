package quorum

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	maxBatch = 512 // calls in one pipeline
	// warm is how long the worker keeps its connection when there is nothing to do. Too long: other users of the client
	// wait for it. Too short: calls with pauses between them each take a connection first.
	warm = 20 * time.Millisecond
)

// task is one node's part of a round.
type task struct {
	calls
	index int // of the node in the round
}

func (t task) fail(err error) { t.calls.fail(t.index, err) }

// calls is a Round[T] for any T.
type calls interface {
	command() command
	name() string // of the calls; empty: none
	expired(now time.Time) bool
	fail(i int, err error)
}

// node is one Redis master, the queue of calls in front of it, and the worker that sends them in that order.
type node struct {
	config *Config
	index  int // in the list of nodes
	addr   string
	client redis.UniversalClient

	wake        chan struct{} // holds one token for a worker that rests
	done        chan struct{} // closed when the worker has ended
	uninspected atomic.Bool   // not inspected since it was last unreachable

	mu      sync.Mutex // guards the fields below
	queue   []task
	started bool // the worker runs, or has ended
	resting bool // the worker has nothing to do until it is woken
	closed  bool
	onIdle  []chan struct{} // closed when no call is under way
	silent  bool            // the last call ended without an answer
	asked   time.Time       // when the call under way was sent; zero if none
	rtt     time.Duration   // smoothed round-trip time
}

func newNode(config *Config, index int, addr string, client redis.UniversalClient) *node {
	n := &node{
		config: config, index: index, addr: addr, client: direct(client, config.Timeout),
		wake: make(chan struct{}, 1), done: make(chan struct{}), resting: true,
	}
	n.inspect()
	return n
}

// enqueue adds the task to the queue. The first one starts the worker.
func (n *node) enqueue(t task) {
	now := time.Now()
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		t.fail(ErrClosed)
		return
	}
	expired := n.dropExpiredLocked(now)
	n.queue = append(n.queue, t)
	switch {
	case !n.started:
		n.started, n.resting = true, false
		go n.work() // ends after close; done tells when
	case n.resting:
		n.resting = false
		n.wake <- struct{}{} // never blocks: one token each time that the worker rests
	}
	n.mu.Unlock()

	for _, t := range expired {
		t.fail(errExpired)
	}
}

// dropExpiredLocked removes the oldest tasks if nobody waits for them any more. It keeps the queue of a hung node
// short.
func (n *node) dropExpiredLocked(now time.Time) []task {
	live := 0
	for live < len(n.queue) && n.queue[live].expired(now) {
		live++
	}
	if live == 0 {
		return nil
	}
	expired := slices.Clone(n.queue[:live])
	n.queue = slices.Delete(n.queue, 0, live)
	return expired
}

// work is the worker. It owns a connection and sends the tasks of the queue on it.
func (n *node) work() {
	defer close(n.done)
	w := newWorker(n)
	defer w.close()
	for n.take(w) {
		w.run()
	}
}

// take gives the worker the next tasks, and waits for them. It returns false if the worker must end.
func (n *node) take(w *worker) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.queue) == 0 {
		n.resting = true
		n.signalIdleLocked()
		if n.closed {
			return false
		}
		n.mu.Unlock()
		w.rest()
		n.mu.Lock()
	}
	w.tasks = append(w.tasks[:0], n.queue[:min(len(n.queue), maxBatch)]...)
	n.queue = slices.Delete(n.queue, 0, len(w.tasks))
	return true
}

func (n *node) signalIdleLocked() {
	if n.resting && len(n.queue) == 0 {
		for _, ch := range n.onIdle {
			close(ch)
		}
		n.onIdle = nil
	}
}

// idle returns a channel that is closed when no call is under way.
func (n *node) idle() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	ch := make(chan struct{})
	n.onIdle = append(n.onIdle, ch)
	n.signalIdleLocked()
	return ch
}

// close refuses further tasks, and makes the worker end when the queue is empty.
func (n *node) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.closed:
	case !n.started:
		close(n.done)
	case n.resting:
		n.wake <- struct{}{} // it goes on resting, as far as isBusy knows
	}
	n.closed = true
}

// isBusy reports whether calls are under way.
func (n *node) isBusy() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.resting || len(n.queue) > 0
}

// inspect makes the node be inspected before its next call.
func (n *node) inspect() { n.uninspected.Store(n.config.Inspection.command != nil) }

// sends records that something is about to be sent.
func (n *node) sends() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = time.Now()
}

// note records whether the node answered, and how long it took. A client that gave no connection says nothing about the
// node.
func (n *node) note(r *result) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = time.Time{}
	if errors.Is(r.err, ErrNoConnection) {
		return
	}
	n.silent = !r.isAnswer()
	if n.silent {
		n.inspect()
		return
	}
	took := r.received.Sub(r.sent)
	if n.rtt == 0 {
		n.rtt = took
	}
	n.rtt += (took - n.rtt) / 8
}

// slow reports whether the node did not answer its last call, or takes longer than the hedge delay now.
func (n *node) slow() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.silent || !n.asked.IsZero() && time.Since(n.asked) > n.hedgeDelayLocked()
}

// hedgeDelay returns how long the node may take before others are asked without it: three times the smoothed round-trip
// time, but short enough to leave most of the timeout for the others.
func (n *node) hedgeDelay() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hedgeDelayLocked()
}

func (n *node) hedgeDelayLocked() time.Duration {
	return min(max(2*time.Millisecond, 3*n.rtt), n.config.Timeout/4)
}
