package quorum

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Answer is one node's answer to one call.
type Answer[T any] struct {
	Over   bool  // the call has ended, with a reply or with an error
	Resent bool  // sent twice because a connection broke: the first copy may still act
	Value  T     // the script's result
	Err    error // why there is no Value; ErrNoAnswer while the call is not over
	Header
	Received time.Time     // when the call ended, if it was sent
	Took     time.Duration // since it was sent; the node acted in between
}

// Round is one call on several nodes. It continues after [Ask] has returned, until the last node's call has ended.
type Round[T any] struct {
	quorum *Quorum
	nodes  []*node
	call   Call[T]
	judge  func([]Answer[T]) bool
	until  time.Time // when the caller stops waiting

	mu      sync.Mutex // guards the fields below
	answers []Answer[T]
	open    int                           // calls that have not ended
	closed  bool                          // the outcome is decided, or all calls have ended
	waiter  *waiter                       // is told when closed; nil: nobody waits
	then    []func(node int, a Answer[T]) // called at the end of each call
}

// waiter is what a caller waits with. It is used for many rounds, one after the other.
type waiter struct {
	over  chan struct{} // holds one signal
	timer *time.Timer
}

func newWaiter() any { return &waiter{make(chan struct{}, 1), time.NewTimer(0)} }

func newRound[T any](q *Quorum, nodes []*node, call Call[T], judge func([]Answer[T]) bool) *Round[T] {
	r := &Round[T]{
		quorum: q, nodes: nodes, call: call, judge: judge,
		until:   time.Now().Add(q.config.Timeout),
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

// View calls fn with the answers so far, without copying them. fn must be quick, like the judge of [Ask], and keep nothing.
func (r *Round[T]) View(fn func(answers []Answer[T])) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fn(r.answers)
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
	var space [9]int
	over := space[:0]
	r.mu.Lock()
	for i := range r.answers {
		if r.answers[i].Over {
			over = append(over, i)
		}
	}
	if r.open > 0 {
		r.then = append(r.then, fn)
	}
	r.mu.Unlock()

	for _, i := range over {
		fn(i, r.Answer(i))
	}
}

// Send hands the call to every node of the round. It never blocks.
func (r *Round[T]) Send() {
	for i := range r.nodes {
		r.send(i)
	}
}

func (r *Round[T]) send(i int) { r.nodes[i].enqueue(task{r, i}) }

// Wait returns nil when the round is decided or at its timeout, and the cause of ctx if ctx is done first. Only one
// goroutine may wait at a time.
func (r *Round[T]) Wait(ctx context.Context) (err error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	w := r.quorum.waiters.Get().(*waiter)
	r.waiter = w
	r.mu.Unlock()

	w.timer.Reset(time.Until(r.until))
	select {
	case <-w.over:
	case <-w.timer.C:
		r.leave(w)
		r.explain()
	case <-ctx.Done():
		if !r.leave(w) { // if both happened, the decision counts
			err = context.Cause(ctx)
		}
	}
	w.timer.Stop()
	r.quorum.waiters.Put(w)
	return err
}

// leave ends a wait whose signal may or may not have been sent. It reports whether the round is closed.
func (r *Round[T]) leave(w *waiter) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiter = nil
	if r.closed {
		<-w.over
	}
	return r.closed
}

// explain says of which calls it is not the node's fault that they have no answer.
func (r *Round[T]) explain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, n := range r.nodes {
		if !r.answers[i].Over && n.isUnsent() {
			r.answers[i].Err = reason{errNotYet, errNotYet.text + n.hint()}
		}
	}
}

// finish records a node's answer. It is called exactly once per node.
func (r *Round[T]) finish(i int, answer Answer[T]) {
	answer.Over = true
	r.mu.Lock()
	r.answers[i] = answer
	r.open--
	if !r.closed && (r.open == 0 || r.judge(r.answers)) {
		r.closeLocked()
	}
	then := r.then // only ever appended to
	r.mu.Unlock()

	for _, fn := range then {
		fn(i, answer)
	}
}

// closeLocked ends the wait for the round. Before the timeout it is not the nodes' fault that their answers are missing.
func (r *Round[T]) closeLocked() {
	r.closed = true
	if r.waiter != nil {
		r.waiter.over <- struct{}{} // never blocks: a round is closed once
	}
	if r.open == 0 || !time.Now().Before(r.until) {
		return
	}
	for i := range r.answers {
		if !r.answers[i].Over {
			r.answers[i].Err = errNotAwaited
		}
	}
}

func (r *Round[T]) command() command { return r.call.command }

func (r *Round[T]) name() string {
	if named, ok := r.call.args.(Named); ok {
		return named.Name()
	}
	return ""
}

func (r *Round[T]) expired(now time.Time) bool { return !now.Before(r.until) }
func (r *Round[T]) fail(i int, err error)      { r.finish(i, Answer[T]{Err: err}) }

// Ask sends call to all nodes. It returns when judge says that the answers decide the outcome, when all are in, or at
// the node timeout. If ctx ends first, it returns the cause of ctx as well; calls already sent continue. judge is
// called under the round's lock: it must be quick and change nothing.
func Ask[T any](ctx context.Context, q *Quorum, call Call[T], judge func([]Answer[T]) bool) (*Round[T], error) {
	r := newRound(q, q.nodes, call, judge)
	if len(q.nodes) == 1 {
		if carried, err := q.nodes[0].carry(ctx, task{r, 0}); carried {
			if r.Answer(0).Err == nil {
				err = nil // if both happened, the decision counts
			}
			return r, err
		}
	}
	r.Send()
	return r, r.Wait(ctx)
}

// AskHedged is [Ask] as a hedged request. It asks the first nodes alone. It asks the others when more returns true for
// an answer of a first node, or after the hedge delay. Otherwise the calls to the others are never sent ([ErrNotTried]).
func AskHedged[T any](
	ctx context.Context, q *Quorum, call Call[T], judge func([]Answer[T]) bool, first []int, more func(Answer[T]) bool,
) (*Round[T], error) {
	if len(q.nodes) == 1 {
		return Ask(ctx, q, call, judge)
	}
	r := newRound(q, q.nodes, call, judge)
	// Not a sync.Once: sending ends expired calls, which may call this function again, from this round or from another.
	var decided atomic.Bool
	others := func(ask bool) {
		if !decided.CompareAndSwap(false, true) {
			return
		}
		for i := range q.nodes {
			switch {
			case slices.Contains(first, i):
			case ask:
				r.send(i)
			default:
				r.finish(i, Answer[T]{Err: errNotAsked})
			}
		}
	}
	var delay time.Duration
	for _, i := range first {
		delay = max(delay, q.nodes[i].hedgeDelay())
	}
	hedge := time.AfterFunc(delay, func() { others(true) })
	defer hedge.Stop()
	for _, i := range first {
		r.send(i)
	}
	var answered atomic.Int32
	r.Then(func(i int, a Answer[T]) {
		switch {
		case !slices.Contains(first, i):
		case more(a):
			others(true)
		case answered.Add(1) == int32(len(first)):
			others(false)
		}
	})
	err := r.Wait(ctx)
	others(false) // the caller no longer waits
	return r, err
}

// Prepare prepares call for node i alone; [Round.Send] sends it. The answer has index 0.
func Prepare[T any](q *Quorum, i int, call Call[T]) *Round[T] {
	return newRound(q, q.nodes[i:i+1], call, func([]Answer[T]) bool { return true })
}

// AreAlike reports whether the answers received so far are alike, by comparing each with the first. If alike is nil,
// they are.
func AreAlike[T any](answers []Answer[T], alike func(a, b *T) bool) bool {
	var first *T
	for i := range answers {
		switch a := &answers[i]; {
		case !a.Over || a.Err != nil:
		case first == nil || alike == nil:
			first = &a.Value
		case !alike(first, &a.Value):
			return false
		}
	}
	return true
}
