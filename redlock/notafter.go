package redlock

import (
	"sync/atomic"
	"time"

	"github.com/redlockfx/redlockfx/internal/nodeclock"
)

// notAfter holds for each node the instant, by the node's own clock, after which it must not act on a request: by then
// the caller no longer waits for an answer. A hung node that reads the request from its socket hours later does
// nothing, so it leaves no unknown record behind.
type notAfter struct {
	clocks *nodeclock.Clocks
	until  time.Time // when the caller stops waiting
	sent   []sentNotAfter
}

// sentNotAfter is the instant sent to one node, in microseconds since 1970. A node is inspected before it is asked, so its
// clock is known. If it were not, the instant would be 0, and the node would do nothing.
type sentNotAfter struct {
	argument int64 // owned by the worker that sends it
	noted    atomic.Int64
}

func newNotAfter(clocks *nodeclock.Clocks, nodes int, until time.Time) notAfter {
	return notAfter{clocks: clocks, until: until, sent: make([]sentNotAfter, nodes)}
}

// argument returns the script argument for the node.
func (n *notAfter) argument(node int) any {
	s := &n.sent[node]
	if _, latest, ok := n.clocks.Bounds(node, n.until); ok {
		s.argument = max(s.argument, latest+granularity.Microseconds()) // the request may be sent twice
		s.noted.Store(s.argument)
	}
	return &s.argument
}

// of returns the last instant, by its clock, at which the node may still act on the request to which it gave that answer;
// 0 if it no longer does.
func (n *notAfter) of(node int, a answer) int64 {
	if !mayAct(a) {
		return 0
	}
	return n.sent[node].noted.Load() // 0 if it was not sent
}
