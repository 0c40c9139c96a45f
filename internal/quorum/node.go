package quorum

import (
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	maxWorkers = 4   // goroutines, and so connections, that one node can have
	maxBatch   = 512 // calls in one pipeline
	// warm is how long a worker keeps its connection when there is nothing to do. Longer: others who use the client wait
	// for it. Shorter: calls with pauses between them each begin by taking a connection.
	warm = 20 * time.Millisecond
	// linger is how long a worker stays when there is nothing to do.
	linger = time.Second
	// enough is how long the calls under way may take before a further worker is started for those that wait. Calls that
	// wait travel together afterwards, which is cheaper than at once.
	enough = time.Millisecond
)

// task is one node's part of a round, whatever its script.
type task interface {
	command() command
	name() string // of the call; empty: it has none
	expired(now time.Time) bool
	fail(err error)
}

// node is one Redis master and the queue of calls in front of it.
type node struct {
	config *Config
	index  int // in the list of nodes
	addr   string
	client redis.UniversalClient

	wake chan struct{} // a token for each idle worker that is to look at the queue

	mu          sync.Mutex // guards the fields below
	queue       []task
	workers     int // that take tasks
	alive       int // workers whose goroutine runs
	waiting     int // workers that wait for a token
	busy        int // workers that have taken tasks
	closed      bool
	onIdle      []chan struct{} // closed when no call is under way
	onGone      []chan struct{} // closed when the last worker has gone
	silent      bool            // the last call ended without an answer
	uninspected bool            // not inspected since it was last unreachable
	asked       time.Time       // when the first call was sent that is still without an answer; zero if none
	rtt         time.Duration   // what an answer takes, smoothed
}

func newNode(config *Config, index int, addr string, client redis.UniversalClient) *node {
	return &node{
		config: config, index: index, addr: addr, client: direct(client, config.Timeout),
		wake: make(chan struct{}, maxWorkers), uninspected: config.Inspection.command != nil,
	}
}

// enqueue has the task worked on.
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
		n.wake <- struct{}{} // has room: one token for each that waited
	case n.workers == 0 || n.workers < n.limitLocked() && now.Sub(n.asked) > enough && !n.asked.IsZero():
		n.workers++
		n.alive++
		n.busy++
		go n.work() // ends when it has had nothing to do for a while, or with close; gone waits for it
	}
	n.mu.Unlock()

	for _, t := range expired {
		t.fail(ErrUnsent)
	}
}

// limitLocked is one for a node that does not answer: each call that times out costs a connection, and more than one at
// a time would tell no more. So it is for one that has yet to be inspected.
func (n *node) limitLocked() int {
	if n.silent || n.uninspected {
		return 1
	}
	return maxWorkers
}

// dropExpiredLocked keeps the queue of a hung node short: its oldest tasks are the ones that nobody waits for any more.
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

// work is one worker: it owns a connection and sends on it what is in the queue.
func (n *node) work() {
	w := &worker{node: n, connection: connection{client: n.client}}
	defer n.end(w)
	idle := time.NewTimer(linger)
	defer idle.Stop()
	for n.take(w, idle) {
		w.run()
	}
}

// take gives the worker the next tasks; false: it is to go.
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
		case <-n.wake: // both at once: whoever sent the token counts on this worker
		default:
			n.waiting--
			n.leaveLocked()
			return false
		}
	}
}

// rest waits until the worker is woken; false: it has lingered in vain. Its connection goes back before that, as its client
// may have but one.
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
	if len(n.queue) > 0 && n.waiting > 0 { // who was woken for the task and goes instead wakes another one
		n.waiting--
		n.wake <- struct{}{}
	}
	n.signalIdleLocked()
}

// end is the last that a worker does.
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

// close refuses further tasks, and has the workers go when those in the queue are done.
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

// sends notes that something is about to be sent.
func (n *node) sends() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.asked.IsZero() {
		n.asked = time.Now()
	}
}

// note notes how the node answered.
func (n *node) note(answered bool, took time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.silent = !answered
	n.asked = time.Time{}
	if !answered {
		n.uninspected = n.config.Inspection.command != nil
		return
	}
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

// slow reports that the node has not answered for longer than it usually takes.
func (n *node) slow() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.silent || !n.asked.IsZero() && time.Since(n.asked) > n.hedgeDelayLocked()
}

// hedgeDelay is how long the node may take before others are asked without it: longer than usual, but so that most of
// the time is left for the others.
func (n *node) hedgeDelay() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hedgeDelayLocked()
}

func (n *node) hedgeDelayLocked() time.Duration {
	return min(max(2*time.Millisecond, 3*n.rtt), n.config.Timeout/4)
}
