package quorum

import (
	"context"
	"errors"
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
	addr    string
	client  redis.UniversalClient
	timeout time.Duration
	scripts []*Script
	worker  func() // n.work, bound once

	mu      sync.Mutex // guards the fields below
	queue   []task
	spare   []task // the space of a batch that is over
	workers int
	silent  bool // the last calls ended without an answer
	closed  bool
	waiting []chan struct{} // closed when the last worker has gone
}

// task is one node's part of a round.
type task struct {
	ctx    context.Context    // done when nobody waits any more
	cancel context.CancelFunc // of a ctx that is the task's own, else nil
	round  *Round
	node   int
}

func (t task) finish(reply any, err error) {
	if t.cancel != nil {
		t.cancel()
	}
	t.round.finish(t.node, reply, err)
}

// enqueue has the task worked on. Workers come with the work and go with it, so that a Quorum
// that is not in use has no goroutine: each is counted in n.workers, ends when the queue is empty
// and is waited for through idle.
func (n *node) enqueue(t task) {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		t.finish(nil, ErrClosed)
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
		t.finish(nil, ErrUnsent)
	}
}

// limitLocked is one for a node that does not answer: each call that times out costs a connection,
// and more than one at a time would tell no more.
func (n *node) limitLocked() int {
	if n.silent {
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
			t.finish(nil, ErrUnsent)
			continue
		}
		live = append(live, t)
	}
	switch len(live) {
	case 0:
	case 1:
		n.runOne(live[0])
	default:
		n.runPipeline(live)
	}
}

func (n *node) runOne(t task) {
	cmd := newCmd(t.ctx, t.round.call.args)
	_ = n.client.Process(t.ctx, cmd) // the command keeps its error
	n.note(cmd)
	n.finish(t, cmd)
}

// note notes whether the node answered its latest call.
func (n *node) note(cmd *redis.Cmd) {
	_, answered := errors.AsType[redis.Error](cmd.Err())
	n.mu.Lock()
	defer n.mu.Unlock()
	n.silent = cmd.Err() != nil && !answered
}

func (n *node) runPipeline(batch []task) {
	// The youngest task's context: the older ones have been waiting longer, not the batch.
	ctx := batch[len(batch)-1].ctx
	cmds := make([]*redis.Cmd, len(batch))
	pipe := n.client.Pipeline()
	for i, t := range batch {
		cmds[i] = newCmd(ctx, t.round.call.args)
		_ = pipe.Process(ctx, cmds[i])
	}
	_, _ = pipe.Exec(ctx) // each command keeps its own error
	n.note(cmds[len(cmds)-1])
	for i, t := range batch {
		n.finish(t, cmds[i])
	}
}

// finish ends a task. Where the node did not know the script, it is asked once more with the source,
// and in the same round trip told the other scripts too: a lease should not have to wait for two
// round trips when it is first extended.
func (n *node) finish(t task, cmd *redis.Cmd) {
	if cmd.Err() != nil && redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		pipe := n.client.Pipeline()
		cmd = newCmd(t.ctx, t.round.call.withSource())
		_ = pipe.Process(t.ctx, cmd)
		for _, s := range n.scripts {
			if s != t.round.call.script {
				pipe.ScriptLoad(t.ctx, s.source)
			}
		}
		_, _ = pipe.Exec(t.ctx) // the command keeps its error; the others are a courtesy
	}
	t.finish(cmd.Val(), cmd.Err())
}

func newCmd(ctx context.Context, args []any) *redis.Cmd {
	cmd := redis.NewCmd(ctx, args...)
	cmd.SetFirstKeyPos(3) // for nodes that are clusters
	return cmd
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
