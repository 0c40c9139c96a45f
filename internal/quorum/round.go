package quorum

import (
	"context"
	"sync"
)

// Answer is what one node said in a round.
type Answer struct {
	Over  bool  // the node's call has ended, with a reply or with an error
	Reply any   // what the script returned
	Err   error // why there is no reply; ErrNoAnswer while the call is not over
}

// Round is one call on several nodes. It lives on after [Quorum.Ask] has returned, until the last
// node's call is over.
type Round struct {
	nodes  []*node
	call   Call
	judge  func([]Answer) bool
	ctx    context.Context // done at the node timeout, or when all calls are over
	cancel context.CancelFunc

	decided chan struct{} // closed when judge said so, or when no call is left

	mu      sync.Mutex // guards the fields below
	answers []Answer   // one a node
	open    int        // calls that are not over
	closed  bool       // decided is closed
	then    []follower // who waits for the end of a node's call
}

type follower struct {
	node int
	then func(Answer)
}

func newRound(ctx context.Context, nodes []*node, call Call, judge func([]Answer) bool) *Round {
	r := &Round{
		nodes: nodes, call: call, judge: judge,
		decided: make(chan struct{}),
		answers: make([]Answer, len(nodes)),
		open:    len(nodes),
	}
	for i := range r.answers {
		r.answers[i].Err = ErrNoAnswer
	}
	r.ctx, r.cancel = context.WithTimeout(context.WithoutCancel(ctx), nodes[0].timeout)
	return r
}

// Answers returns what has been said so far, in the order of the nodes.
func (r *Round) Answers() []Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Answer(nil), r.answers...)
}

// Then has fn called with a node's answer when that node's call is over: now, if it is, else on
// the goroutine that ends it. So fn must not block.
func (r *Round) Then(node int, fn func(Answer)) {
	r.mu.Lock()
	answer := r.answers[node]
	if !answer.Over {
		r.then = append(r.then, follower{node, fn})
	}
	r.mu.Unlock()

	if answer.Over {
		fn(answer)
	}
}

// send hands the call to one node.
func (r *Round) send(node int) {
	ctx, cancel := r.ctx, context.CancelFunc(nil)
	if ctx.Err() != nil {
		// A call that had to wait for another one still has its full time.
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), r.nodes[node].timeout)
	}
	r.nodes[node].enqueue(task{ctx: ctx, cancel: cancel, round: r, node: node})
}

// finish records a node's answer; it is called exactly once a node.
func (r *Round) finish(node int, reply any, err error) {
	r.mu.Lock()
	answer := Answer{Over: true, Reply: reply, Err: err}
	r.answers[node] = answer
	r.open--
	last := r.open == 0
	if !r.closed && (last || r.judge(r.answers)) {
		r.closed = true
		close(r.decided)
	}
	var then []func(Answer)
	for _, f := range r.then {
		if f.node == node {
			then = append(then, f.then)
		}
	}
	r.mu.Unlock()

	if last {
		r.cancel()
	}
	for _, fn := range then {
		fn(answer)
	}
}
