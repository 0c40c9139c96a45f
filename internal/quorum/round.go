package quorum

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Answer is one node's answer to one call.
type Answer[T any] struct {
	Over  bool  // the call has ended, with a reply or with an error
	Value T     // the script's result
	Err   error // why there is no Value; ErrNoAnswer while the call is not over
	Header
	Sent, Received time.Time // the node acted between these, if the call was sent
	Resent         bool      // sent twice because a connection broke: the first copy may still act
}

// Round is one call on several nodes. It continues after [Ask] has returned, until the last node's call has ended.
type Round[T any] struct {
	nodes []*node
	call  Call[T]
	judge func([]Answer[T]) bool
	until time.Time // when the caller stops waiting
	parts []part[T] // one per node

	decided chan struct{} // closed when the outcome is decided or all calls have ended

	mu      sync.Mutex // guards the fields below
	answers []Answer[T]
	open    int                           // calls that have not ended
	closed  bool                          // decided is closed
	then    []func(node int, a Answer[T]) // called at the end of each call
}

// part is one node's part of a round. It is the task for the node's worker.
type part[T any] struct {
	round *Round[T]
	index int       // in the round
	until time.Time // when the caller stops waiting for it
}

func newRound[T any](nodes []*node, call Call[T], judge func([]Answer[T]) bool) *Round[T] {
	r := &Round[T]{
		nodes: nodes, call: call, judge: judge,
		until:   time.Now().Add(nodes[0].config.Timeout),
		parts:   make([]part[T], len(nodes)),
		decided: make(chan struct{}),
		answers: make([]Answer[T], len(nodes)),
		open:    len(nodes),
	}
	for i := range r.answers {
		r.answers[i].Err = ErrNoAnswer
	}
	return r
}

// Answers returns the answers so far, in the order of the nodes.
func (r *Round[T]) Answers() []Answer[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.answers)
}

// Answer returns the answer of node i so far.
func (r *Round[T]) Answer(i int) Answer[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answers[i]
}

// Then calls fn with each node's answer once that node's call has ended: immediately if it has, and otherwise on the
// goroutine that ends it. fn must not block.
func (r *Round[T]) Then(fn func(node int, a Answer[T])) {
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
func (r *Round[T]) Send() {
	for i := range r.nodes {
		r.send(i)
	}
}

// send hands the call to one node. A call that had to wait for another call still gets its full timeout.
func (r *Round[T]) send(i int) {
	until := r.until
	if now := time.Now(); !now.Before(until) {
		until = now.Add(r.nodes[i].config.Timeout)
	}
	r.parts[i] = part[T]{r, i, until}
	r.nodes[i].enqueue(&r.parts[i])
}

// Wait returns nil when the round is decided or at its timeout, and the cause of ctx if ctx is done first.
func (r *Round[T]) Wait(ctx context.Context) error {
	timer := time.NewTimer(time.Until(r.until))
	defer timer.Stop()
	select {
	case <-r.decided:
	case <-timer.C:
	case <-ctx.Done():
		select {
		case <-r.decided: // both happened: the decision counts
		default:
			return context.Cause(ctx)
		}
	}
	return nil
}

// finish records a node's answer. It is called exactly once per node.
func (r *Round[T]) finish(i int, answer Answer[T]) {
	answer.Over = true
	r.mu.Lock()
	r.answers[i] = answer
	r.open--
	if !r.closed && (r.open == 0 || r.judge(r.answers)) {
		r.close()
	}
	then := r.then // only ever appended to
	r.mu.Unlock()

	for _, fn := range then {
		fn(i, answer)
	}
}

// close ends the wait for the round. Before the timeout it is not the nodes' fault that their answers are missing.
func (r *Round[T]) close() {
	r.closed = true
	close(r.decided)
	if r.open == 0 || !time.Now().Before(r.until) {
		return
	}
	for i := range r.answers {
		if !r.answers[i].Over {
			r.answers[i].Err = errNotAwaited
		}
	}
}

func (p *part[T]) command() command { return p.round.call.command }
func (p *part[T]) name() string {
	if named, ok := p.round.call.args.(Named); ok {
		return named.Name()
	}
	return ""
}
func (p *part[T]) expired(now time.Time) bool { return !now.Before(p.until) }
func (p *part[T]) fail(err error)             { p.round.finish(p.index, Answer[T]{Err: err}) }
