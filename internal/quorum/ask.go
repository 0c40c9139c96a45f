package quorum

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

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
