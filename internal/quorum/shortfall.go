package quorum

import (
	"fmt"
	"slices"
	"strings"
)

// NodeError is why one node did not agree.
type NodeError struct {
	Addr string
	Err  error
}

// Shortfall is the error of a call to which too few nodes agreed.
type Shortfall struct {
	Op              string // the operation
	Kind            error
	Size, Need, Got int         // number of nodes, how many must agree, how many did
	Nodes           []NodeError // nodes that did not agree, in the order of the list
}

func (e *Shortfall) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %v: %d of %d nodes, %d needed", e.Op, e.Kind, e.Got, e.Size, e.Need)
	for i, n := range e.Nodes {
		fmt.Fprintf(&b, "%c %s: %v", ":;"[min(i, 1)], n.Addr, n.Err)
	}
	return b.String()
}

// Unwrap returns the kind and each node's reason.
func (e *Shortfall) Unwrap() []error {
	all := []error{e.Kind}
	for _, n := range e.Nodes {
		all = append(all, n.Err)
	}
	return all
}

// CutShort is the error of a call whose context ended while nodes that could change the outcome had not answered.
func CutShort(op string, cause error) error {
	return fmt.Errorf("%s: ended before all the nodes answered that can decide: %w", op, cause)
}

// Collect asks agrees about each node's answer. agrees returns why the node does not agree, or nil. If ok is false, too few
// nodes agree, and short has their reasons.
func Collect[T any](q *Quorum, answers []Answer[T], agrees func(node int, a *Answer[T]) error) (short *Shortfall, ok bool) {
	short = &Shortfall{Size: q.Size(), Need: q.Majority()}
	for i := range answers {
		if err := agrees(i, &answers[i]); err != nil {
			short.Nodes = append(short.Nodes, NodeError{q.Addr(i), err})
		} else {
			short.Got++
		}
	}
	return short, short.Got >= short.Need
}

// Of completes the error. cause is why the call ended early; nil if it did not.
func (e *Shortfall) Of(op string, kind, cause error) error {
	e.Op, e.Kind = op, kind
	if cause != nil {
		return fmt.Errorf("%w: %w", e, cause)
	}
	return e
}

// IsDecided reports whether the nodes that agree are a majority, or cannot become one.
func IsDecided[T any](q *Quorum, answers []Answer[T], agrees func(node int, a *Answer[T]) error) bool {
	votes, open := 0, 0
	for i := range answers {
		switch a := &answers[i]; {
		case !a.Over:
			open++
		case agrees(i, a) == nil:
			votes++
		}
	}
	return q.Decided(votes, open)
}

// Succeeded says that each node agrees that did as it was asked.
func Succeeded[T any](_ int, a *Answer[T]) error { return a.Err }

// AllOver reports whether all nodes have answered.
func AllOver[T any](answers []Answer[T]) bool {
	return !slices.ContainsFunc(answers, func(a Answer[T]) bool { return !a.Over })
}

// Decided reports whether votes are a majority, or cannot become one with the nodes that have not answered.
func (q *Quorum) Decided(votes, open int) bool {
	return votes >= q.Majority() || votes+open < q.Majority()
}
