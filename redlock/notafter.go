package redlock

import (
	"sync/atomic"
	"time"

	"github.com/redlockfx/redlockfx/internal/nodeclock"
)

// notAfter is the instant after which each node must not act on a request any more, by the node's own clock: when nobody
// waits for its answer. A request that a hung node finds in its socket hours later does nothing, so it leaves no record
// that nobody knows of.
type notAfter struct {
	clocks *nodeclock.Clocks
	until  time.Time // when nobody waits any more
	sent   []sentNotAfter
}

// sentNotAfter is what one node was told, in microseconds since 1970; 0: nothing, its clock is not known.
type sentNotAfter struct {
	argument int64 // belongs to the worker that sends it
	noted    atomic.Int64
}

func (l *Locker) notAfter(asked time.Time) notAfter {
	return notAfter{
		clocks: l.clocks, until: asked.Add(l.settings.NodeTimeout), sent: make([]sentNotAfter, l.size),
	}
}

// argument is what the node is told.
func (n *notAfter) argument(node int) any {
	s := &n.sent[node]
	if _, latest, ok := n.clocks.Bounds(node, n.until); ok {
		s.argument = max(s.argument, latest+granularity.Microseconds()) // it may be asked twice
		s.noted.Store(s.argument)
	}
	return &s.argument
}

// of is what the node was told, and so the last moment at which it may have acted.
func (n *notAfter) of(node int) int64 { return n.sent[node].noted.Load() }
