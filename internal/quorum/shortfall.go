package quorum

import (
	"fmt"
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

// Decided reports whether votes are a majority, or cannot become one with the nodes that have not answered.
func (q *Quorum) Decided(votes, open int) bool {
	return votes >= q.Majority() || votes+open < q.Majority()
}
