package quorum

import (
	"fmt"
	"strings"
)

// NodeError is why one node did not do its part.
type NodeError struct {
	Addr string
	Err  error
}

// Shortfall is the error of a call that too few nodes agreed to.
type Shortfall struct {
	Op              string // what was tried
	Kind            error
	Size, Need, Got int         // nodes in the list, of which so many are needed, and did agree
	Nodes           []NodeError // those that did not agree, in the order of the list
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

// Decided reports that so many votes are a majority, or that the nodes which have not answered cannot make one of them.
func (q *Quorum) Decided(votes, open int) bool {
	return votes >= q.Majority() || votes+open < q.Majority()
}
