package quorum

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	maxBatch = 512 // calls in one pipeline
	// warm is how long an idle connection is used without a look at it. Too long: a call is sent on a connection that the
	// server has closed meanwhile, and then again. Too short: each call pays for the look.
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

// node is one Redis master, and the queue of calls in front of it.
type node struct {
	config      *Config
	index       int // in the list of nodes
	addr        string
	worker      *worker       // belongs to whoever has set busy
	wake        chan struct{} // holds one token for the goroutine when it rests; closed at the end
	running     sync.WaitGroup
	uninspected atomic.Bool                // not inspected since it was last unreachable
	underway    atomic.Pointer[scriptText] // of the pipeline under way; nil: there is none

	mu      sync.Mutex // guards the fields below
	queue   []task
	busy    bool // the goroutine, or a caller, uses the worker
	started bool // there is a goroutine
	alone   bool // the last pipeline had one call, and no other came meanwhile
	closed  bool
	over    bool            // closed, and the worker as well
	onIdle  []chan struct{} // see idle
	silent  bool            // the last call ended without an answer
	asked   time.Time       // when the call under way was sent; zero if none
	rtt     time.Duration   // smoothed round-trip time, with what dialing and waiting took
	near    time.Duration   // round-trip time at best: falls at once, and rises slowly
}

func newNode(config *Config, index int, addr string, client redis.UniversalClient) *node {
	n := &node{config: config, index: index, addr: addr, wake: make(chan struct{}, 1)}
	n.worker = newWorker(n, newConnection(client, config.Timeout))
	n.inspect()
	return n
}

// enqueue adds the task to the queue, and has the goroutine send it.
func (n *node) enqueue(t task) {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		t.fail(ErrClosed)
		return
	}
	defer n.mu.Unlock()
	n.queue = append(n.queue, t)
	n.alone = n.alone && !n.busy
	if !n.busy {
		n.busy = true
		n.wakeLocked()
	}
}

// wakeLocked has the goroutine serve the queue.
func (n *node) wakeLocked() {
	if !n.started {
		n.started = true
		n.running.Go(n.work) // ends when wake is closed
	}
	n.wake <- struct{}{} // never blocks: one token each time that the goroutine rests
}

func (n *node) work() {
	for range n.wake {
		for n.take() {
			n.worker.run()
			if len(n.worker.tasks) > 1 {
				runtime.Gosched() // those whose calls have ended make the next ones, which then share a pipeline
			}
		}
	}
}

// take gives the worker the tasks of the next pipeline. If there are none, the node is idle, and take returns false.
func (n *node) take() bool {
	for !n.takeQueued() {
		if n.rest() {
			return false
		}
	}
	return true
}

// takeQueued gives the worker the first tasks of the queue. A name is in a pipeline only once: its commands may be carried
// out in another order, if the node lacks the script of one of them.
func (n *node) takeQueued() bool {
	w := n.worker
	w.tasks = w.tasks[:0]
	clear(w.names)
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range n.queue[:min(len(n.queue), maxBatch)] {
		if name := t.name(); name != "" && len(n.queue) > 1 {
			if _, twice := w.names[name]; twice {
				break
			}
			w.names[name] = struct{}{}
		}
		w.tasks = append(w.tasks, t)
	}
	n.queue = slices.Delete(n.queue, 0, len(w.tasks))
	if len(w.tasks) == 0 {
		return false
	}
	n.alone = len(w.tasks) == 1 && len(n.queue) == 0
	return true
}

// rest makes the node idle, and ends it if it is closed. It returns false, and does nothing, if there are tasks.
func (n *node) rest() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) > 0 {
		return false
	}
	if n.closed {
		n.mu.Unlock()
		n.worker.end()
		close(n.wake)
		n.mu.Lock()
		n.over = true
	}
	n.busy = false
	n.signalIdleLocked()
	return true
}

// idle returns a channel that is closed when no call is under way; after close, when the worker is closed as well.
func (n *node) idle() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	ch := make(chan struct{})
	n.onIdle = append(n.onIdle, ch)
	n.signalIdleLocked()
	return ch
}

func (n *node) signalIdleLocked() {
	if n.busy || n.closed && !n.over {
		return
	}
	for _, ch := range n.onIdle {
		close(ch)
	}
	n.onIdle = nil
}

// close refuses further tasks. The node ends when it is idle.
func (n *node) close() {
	n.mu.Lock()
	idle := !n.busy && !n.closed
	n.closed, n.busy = true, n.busy || idle
	n.mu.Unlock()
	if idle {
		n.rest()
	}
}

// inspect makes the node be inspected before its next call.
func (n *node) inspect() { n.uninspected.Store(n.config.Inspection.command != nil) }

// sends records that something is about to be sent. It returns whether the node can answer in a quarter of the timeout.
func (n *node) sends() (soon bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = time.Now()
	return n.near < n.config.Timeout/4
}

// note records whether the node answered, and how long it took. Time that was lost in this process says nothing about
// the node.
func (n *node) note(r *result) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = time.Time{}
	if errors.Is(r.err, ErrHeldUp) {
		return
	}
	n.silent = !r.isAnswer()
	if n.silent {
		n.inspect()
		return
	}
	took := r.received.Sub(r.sent)
	if n.rtt == 0 {
		n.rtt, n.near = took, took
	}
	n.rtt += (took - n.rtt) / 8
	n.near = min(took, n.near+(took-n.near)/8)
}

// isUnsent reports whether a pipeline is under way that the client has not begun to write.
func (n *node) isUnsent() bool {
	text := n.underway.Load()
	return text != nil && text.fate.Load() == unwritten
}

// hint returns what to try if the node gives no connection, and never has. A server without TLS takes the first message of a TLS client
// for an unfinished line, and says nothing.
func (n *node) hint() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if o := n.worker.options; n.rtt > 0 || o == nil || o.TLSConfig == nil {
		return ""
	}
	return "; if this port does not use TLS, the URL begins with redis://"
}

// slow reports whether the node did not answer its last call, or takes longer than the hedge delay now.
func (n *node) slow() bool {
	n.mu.Lock()
	silent, asked := n.silent, n.asked
	n.mu.Unlock()
	return silent || !asked.IsZero() && time.Since(asked) > n.hedgeDelay()
}

// isNear reports whether a new connection can answer in half of the timeout: dialing it takes some round trips.
func (n *node) isNear() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.near < n.config.Timeout/8
}

// hedgeDelay returns how long the node may take before others are asked without it: three times the smoothed round-trip
// time, but short enough to leave most of the timeout for the others.
func (n *node) hedgeDelay() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return min(max(2*time.Millisecond, 3*n.rtt), n.config.Timeout/4)
}

// carry sends the task on the goroutine of its caller, and returns when it has ended. With one node this saves a third of
// the time of a call: two changes of goroutines. But nobody else can use the node meanwhile, and a call can only end early,
// with ctx, by breaking the connection. So carry returns false, and has done nothing, if others use the node as well, if
// the node did not answer last time or is to be looked at, or if its connection has been idle. err is the cause of ctx if that
// ended the call.
func (n *node) carry(ctx context.Context, t task) (carried bool, err error) {
	w := n.worker
	n.mu.Lock()
	if n.busy || n.closed || n.silent || !n.alone || !w.isOwn() || !w.isWarm() || n.uninspected.Load() || w.isLookDue() {
		n.mu.Unlock()
		return false, nil
	}
	n.busy = true
	n.mu.Unlock()

	after := func() bool { return true }
	if ctx.Done() != nil {
		after = context.AfterFunc(ctx, w.abort)
	}
	w.tasks, w.base, w.carried = append(w.tasks[:0], t), ctx, true
	w.run()
	w.base, w.carried = context.Background(), false
	if !after() {
		<-w.gone
		err = context.Cause(ctx)
	}
	if w.aborted.Load() {
		w.connection.close()
		w.aborted.Store(false)
	}
	if !n.rest() {
		n.mu.Lock()
		n.wakeLocked()
		n.mu.Unlock()
	}
	return true, err
}

// limit ends a carried call that is sent a second time when its caller stops waiting: each time may take the timeout.
func (w *worker) limit(until time.Time) (stop func()) {
	if !w.carried {
		return func() {}
	}
	late := time.AfterFunc(time.Until(until), w.abort)
	return func() {
		if !late.Stop() {
			<-w.gone
		}
	}
}
