package quorum

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	maxWorkers = 4  // goroutines, and so connections, that one node can have
	maxBatch   = 64 // calls in one pipeline
)

// node is one Redis master and the queue of calls in front of it.
type node struct {
	config *Config
	index  int // in the list of nodes
	addr   string
	client redis.UniversalClient
	worker func() // n.work, bound once

	mu       sync.Mutex // guards the fields below
	queue    []task
	spare    []task // the space of a batch that is over
	workers  int
	silent   bool          // the last call ended without an answer
	stranger bool          // not inspected since it was last unreachable
	told     bool          // it has been sent all scripts
	asked    time.Time     // when the first call was sent that is still without an answer; zero if none
	usual    time.Duration // what an answer takes, smoothed
	closed   bool
	waiting  []chan struct{} // closed when the last worker has gone
}

// task is one node's part of a round.
type task struct {
	ctx    context.Context    // done when nobody waits any more
	cancel context.CancelFunc // of a ctx that is the task's own, else nil
	round  *Round
	node   int
}

func (t task) finish(a Answer) {
	if t.cancel != nil {
		t.cancel()
	}
	t.round.finish(t.node, a)
}

func (t task) fail(err error) { t.finish(Answer{Err: err}) }

// enqueue has the task worked on. Workers come with the work and go with it, so that a Quorum
// that is not in use has no goroutine: each is counted in n.workers, ends when the queue is empty
// and is waited for through idle.
func (n *node) enqueue(t task) {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		t.fail(ErrClosed)
		return
	}
	expired := n.dropExpiredLocked()
	n.queue = append(n.queue, t)
	start := n.workers < n.limitLocked()
	if start {
		n.workers++
	}
	n.mu.Unlock()

	if start {
		go n.worker()
	}
	for _, t := range expired {
		t.fail(ErrUnsent)
	}
}

// limitLocked is one for a node that does not answer: each call that times out costs a connection,
// and more than one at a time would tell no more. So it is for one that has yet to be inspected.
func (n *node) limitLocked() int {
	if n.silent || n.stranger {
		return 1
	}
	return maxWorkers
}

// dropExpiredLocked keeps the queue of a hung node short: its oldest tasks are the ones that
// nobody waits for any more.
func (n *node) dropExpiredLocked() []task {
	live := 0
	for live < len(n.queue) && n.queue[live].ctx.Err() != nil {
		live++
	}
	expired := slices.Clone(n.queue[:live])
	n.queue = slices.Delete(n.queue, 0, live)
	return expired
}

func (n *node) work() {
	var batch []task
	for {
		batch = n.take(batch)
		if len(batch) == 0 {
			return
		}
		n.run(batch)
	}
}

// take returns the next tasks, or none, and then the worker that asked has signed off. It is given
// back the worker's last batch, whose space is the queue's again.
func (n *node) take(last []task) []task {
	clear(last)
	n.mu.Lock()
	defer n.mu.Unlock()
	if last != nil {
		n.spare = last[:0]
	}
	if len(n.queue) == 0 || n.workers > n.limitLocked() {
		n.workers--
		if n.workers == 0 {
			for _, ch := range n.waiting {
				close(ch)
			}
			n.waiting = nil
		}
		return nil
	}
	size := min(len(n.queue), maxBatch)
	batch := n.queue[:size]
	n.queue, n.spare = append(n.spare, n.queue[size:]...), nil
	return batch
}

// run sends the tasks that somebody still waits for, in one pipeline.
func (n *node) run(batch []task) {
	live := batch[:0]
	for _, t := range batch {
		if t.ctx.Err() != nil {
			t.fail(ErrUnsent)
			continue
		}
		live = append(live, t)
	}
	if len(live) == 0 {
		return
	}
	if err := n.inspect(live[len(live)-1].ctx); err != nil {
		for _, t := range live {
			t.fail(err)
		}
		return
	}
	if len(live) == 1 {
		n.runOne(live[0])
	} else {
		n.runPipeline(live)
	}
}

// idle returns a channel that is closed when no call is under way.
func (n *node) idle() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	ch := make(chan struct{})
	if n.workers == 0 {
		close(ch)
	} else {
		n.waiting = append(n.waiting, ch)
	}
	return ch
}

// close refuses further tasks.
func (n *node) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
}
