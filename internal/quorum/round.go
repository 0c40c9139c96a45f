package quorum

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Answer is what one node said in a round.
type Answer struct {
	Over           bool      // the node's call has ended, with a reply or with an error
	Reply          any       // what the script returned
	Err            error     // why there is no reply; ErrNoAnswer while the call is not over
	Sent, Received time.Time // the node did what it did between these, if it was sent
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

	mu      sync.Mutex                 // guards the fields below
	answers []Answer                   // one a node
	open    int                        // calls that are not over
	closed  bool                       // decided is closed
	then    []func(node int, a Answer) // who waits for the ends of the calls
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
	r.ctx, r.cancel = context.WithTimeout(withoutCancel(ctx), nodes[0].config.Timeout)
	return r
}

// Answers returns what has been said so far, in the order of the nodes.
func (r *Round) Answers() []Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Answer(nil), r.answers...)
}

// Answer returns what node i has said so far.
func (r *Round) Answer(i int) Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answers[i]
}

// Then has fn called with each node's answer when that node's call is over: now, if it is, else on
// the goroutine that ends it. So fn must not block.
func (r *Round) Then(fn func(node int, a Answer)) {
	r.mu.Lock()
	if r.open > 0 {
		r.then = append(r.then, fn)
	}
	over := slices.Clone(r.answers)
	r.mu.Unlock()

	for i, a := range over {
		if a.Over {
			fn(i, a)
		}
	}
}

// Send hands the call to every node of the round. It never blocks.
func (r *Round) Send() {
	for i := range r.nodes {
		r.send(i)
	}
}

// send hands the call to one node.
func (r *Round) send(node int) {
	ctx, cancel := r.ctx, context.CancelFunc(nil)
	if ctx.Err() != nil {
		// A call that had to wait for another one still has its full time.
		ctx, cancel = context.WithTimeout(withoutCancel(ctx), r.nodes[node].config.Timeout)
	}
	r.nodes[node].enqueue(task{ctx: ctx, cancel: cancel, round: r, node: node})
}

// finish records a node's answer; it is called exactly once a node.
func (r *Round) finish(node int, answer Answer) {
	answer.Over = true
	r.mu.Lock()
	r.answers[node] = answer
	r.open--
	last := r.open == 0
	if !r.closed && (last || r.judge(r.answers)) {
		r.closed = true
		close(r.decided)
	}
	then := r.then // only ever appended to
	r.mu.Unlock()

	if last {
		r.cancel()
	}
	for _, fn := range then {
		fn(node, answer)
	}
}

func withoutCancel(ctx context.Context) context.Context {
	if ctx.Done() == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}
