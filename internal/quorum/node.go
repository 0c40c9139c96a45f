package quorum

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	maxWorkers = 4   // goroutines, and so connections, that one node can have
	maxBatch   = 512 // calls in one pipeline
	// warm is how long a worker keeps its connection when there is nothing to do. Too long: other users of the client
	// wait for it. Too short: calls with pauses between them each take a connection first.
	warm = 20 * time.Millisecond
	// linger is how long an idle worker stays.
	linger = time.Second
	// growAfter is how long the calls under way may take before another worker starts for the calls that wait. Batching
	// the waiting calls afterwards is cheaper than sending each at once.
	growAfter = time.Millisecond
)

// task is one node's part of a round, whatever its script.
type task interface {
	command() command
	name() string // of the call; empty: none
	expired(now time.Time) bool
	fail(err error)
}

// node is one Redis master and the queue of calls in front of it.
type node struct {
	config *Config
	index  int // in the list of nodes
	addr   string
	client redis.UniversalClient

	wake chan struct{} // one token for each idle worker that must check the queue

	mu          sync.Mutex // guards the fields below
	queue       []task
	workers     int // workers that take tasks
	alive       int // workers whose goroutine runs
	waiting     int // workers that wait for a token
	busy        int // workers that have taken tasks
	closed      bool
	onIdle      []chan struct{} // closed when no call is under way
	onGone      []chan struct{} // closed when the last worker has gone
	silent      bool            // the last call ended without an answer
	uninspected bool            // not inspected since it was last unreachable
	asked       time.Time       // when the oldest unanswered call was sent; zero if none
	rtt         time.Duration   // smoothed round-trip time
}

func newNode(config *Config, index int, addr string, client redis.UniversalClient) *node {
	return &node{
		config: config, index: index, addr: addr, client: direct(client, config.Timeout),
		wake: make(chan struct{}, maxWorkers), uninspected: config.Inspection.command != nil,
	}
}

// enqueue adds the task to the queue, and wakes or starts a worker if needed.
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
	case n.waiting > 0:
		n.waiting--
		n.wake <- struct{}{} // never blocks: one token for each waiting worker
	case n.workers == 0 || n.workers < n.limitLocked() && now.Sub(n.asked) > growAfter && !n.asked.IsZero():
		n.workers++
		n.alive++
		n.busy++
		go n.work() // ends when idle for a while, or after close; gone waits for it
	}
	n.mu.Unlock()

	for _, t := range expired {
		t.fail(errExpired)
	}
}

// limitLocked returns how many workers the node may have. It is one if the node does not answer, because each call that
// times out costs a connection, and further calls would yield no more information. It is also one until the node is
// inspected.
func (n *node) limitLocked() int {
	if n.silent || n.uninspected {
		return 1
	}
	return maxWorkers
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

// work is one worker. It owns a connection and sends the tasks of the queue on it.
func (n *node) work() {
	w := &worker{node: n, connection: connection{client: n.client}}
	defer n.end(w)
	idle := time.NewTimer(linger)
	defer idle.Stop()
	for n.take(w, idle) {
		w.run()
	}
}

// take gives the worker the next tasks. It returns false if the worker must end.
func (n *node) take(w *worker, idle *time.Timer) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.busy--
	for {
		switch {
		case n.workers > n.limitLocked() || n.closed && len(n.queue) == 0:
			n.leaveLocked()
			return false
		case len(n.queue) > 0:
			w.tasks = append(w.tasks[:0], n.queue[:min(len(n.queue), maxBatch)]...)
			n.queue = slices.Delete(n.queue, 0, len(w.tasks))
			n.busy++
			return true
		}
		n.signalIdleLocked()
		n.waiting++
		n.mu.Unlock()
		woken := n.rest(w, idle)
		n.mu.Lock()
		if woken {
			continue
		}
		select {
		case <-n.wake: // both happened: the sender of the token relies on this worker
		default:
			n.waiting--
			n.leaveLocked()
			return false
		}
	}
}

// rest waits until the worker is woken. It returns false after linger. It returns the connection to the pool earlier,
// because the client may have only one.
func (n *node) rest(w *worker, idle *time.Timer) (woken bool) {
	for _, d := range []time.Duration{warm, linger - warm} {
		idle.Reset(d)
		select {
		case <-n.wake:
			return true
		case <-idle.C:
			w.close()
		}
	}
	return false
}

func (n *node) leaveLocked() {
	n.workers--
	if len(n.queue) > 0 && n.waiting > 0 { // woken for a task but leaving: wake another worker
		n.waiting--
		n.wake <- struct{}{}
	}
	n.signalIdleLocked()
}

// end cleans up when a worker ends.
func (n *node) end(w *worker) {
	w.close()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.alive--
	if n.alive == 0 {
		for _, ch := range n.onGone {
			close(ch)
		}
		n.onGone = nil
	}
}

func (n *node) signalIdleLocked() {
	if n.busy == 0 && len(n.queue) == 0 {
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

// close refuses further tasks, and makes the workers end when the queue is empty.
func (n *node) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for ; n.waiting > 0; n.waiting-- {
		n.wake <- struct{}{}
	}
}

// gone returns a channel that is closed when no worker is left.
func (n *node) gone() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	ch := make(chan struct{})
	if n.alive == 0 {
		close(ch)
	} else {
		n.onGone = append(n.onGone, ch)
	}
	return ch
}

// isBusy reports whether calls are under way.
func (n *node) isBusy() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.busy > 0 || len(n.queue) > 0
}

// sends records that something is about to be sent.
func (n *node) sends() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.asked.IsZero() {
		n.asked = time.Now()
	}
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
		n.uninspected = n.config.Inspection.command != nil
		return
	}
	took := r.received.Sub(r.sent)
	if n.rtt == 0 {
		n.rtt = took
	}
	n.rtt += (took - n.rtt) / 8
}

func (n *node) isUninspected() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.uninspected
}

func (n *node) setUninspected() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.uninspected = n.config.Inspection.command != nil
}

func (n *node) setInspected() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.uninspected = false
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
