package redlock

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/refusal"
	"github.com/redlockfx/redlockfx/internal/retry"
)

// observed is the last observed state of the nodes, so that the hooks tell of changes alone.
type observed struct {
	longest atomic.Int64 // lease that any node knows of, beyond our own; in nanoseconds

	mu        sync.Mutex // guards the fields below
	nodes     []nodeState
	listeners map[*listener]struct{} // of OnNode, until they are stopped
	calling   int                    // of their functions that have not returned
}

// nodeState is the last observed state of one node.
type nodeState struct {
	inspection
	inspected bool
	guarded   bool
	guardTold bool      // to the hook
	failure   [3]string // the latest of each kind, empty if all is well
	failing   time.Time // since then, calls and subscriptions have failed; zero: the latest one did not
	away      error     // the listeners know that it fails, and how; nil: it works
	longest   time.Duration
	denied    map[string]bool // what the node's rights lack
	pace      retry.Pace      // of what the hooks are told of it: it chooses its words, its clock and its guard
}

// The kinds of failure, which come and go apart.
const (
	inCall = iota
	inPush
	inFitness
)

func newObserved(nodes int) *observed {
	o := &observed{nodes: make([]nodeState, nodes), listeners: make(map[*listener]struct{})}
	for i := range o.nodes {
		o.nodes[i].pace = retry.Pace{Burst: 20, Every: time.Second}
	}
	return o
}

// mayTell reports whether a hook may be told of the node. What is not told may be told later.
func (s *nodeState) mayTell() bool { return s.pace.Allow(time.Now()) }

// longestLease is the longest lease that any node has told of; 0 if none is longer than ours.
func (o *observed) longestLease() time.Duration { return time.Duration(o.longest.Load()) }

// change lets fn change the state of one node, and returns what it says.
func (o *observed) change(node int, fn func(s *nodeState) bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return fn(&o.nodes[node])
}

// see sees every exchange with a node, before anybody judges it.
func (l *Locker) see(node int, e quorum.Exchange) {
	if e.Time != 0 {
		seen := l.clocks.Note(node, e.Sent, e.Received, e.Time)
		if seen.Slept > 0 {
			l.clock.Advance(seen.Slept)
		}
		if seen.Jumped != 0 && l.settings.hooks.ClockJump != nil && l.observed.change(node, (*nodeState).mayTell) {
			l.settings.hooks.ClockJump(l.quorum.Addr(node), seen.Jumped)
		}
	}
	l.observeFailure(node, inCall, e.Script, e.Err)
	if refusal.Code(e.Err) == refusal.ReadOnly {
		l.quorum.Inspect(node)
	}
}

// seeGrant sees what a node says to a grant or a repair.
func (l *Locker) seeGrant(node int, a answer) {
	guard, guarded := errors.AsType[guardedError](a.Err)
	switch {
	case a.Err == nil && !a.Value.yes, a.Err != nil && !guarded:
		return // the guard was not looked at
	case guarded && a.Value.longest > l.settings.MaxTTL:
		l.observeLongest(node, a.Value.longest)
	}
	other := false  // the server is another one than was inspected
	begins := false // its guard
	news := l.observed.change(node, func(s *nodeState) bool {
		other = a.Identity != 0 && s.inspected && s.identity != 0 && s.identity != a.Identity
		begins = guarded && !s.guarded
		s.guarded = guarded
		news := s.guardTold != guarded && s.mayTell()
		if news {
			s.guardTold = guarded
		}
		return news
	})
	if other || begins {
		l.quorum.Inspect(node)
	}
	if news && l.settings.hooks.Guarded != nil {
		l.settings.hooks.Guarded(l.quorum.Addr(node), guard.left)
	}
}

// seeRelease sees what a node says to a release.
func (l *Locker) seeRelease(node int, a answer) {
	if a.Err == nil && a.Value.unheard {
		l.observeDenied(node, "publish", errors.New("PUBLISH is not permitted: those who wait for a lock wait until the "+
			"holder's lease has run out"))
	}
}

// observeFailure tells the hook of a failure, if it is another one than the last. What is wrong with the record of one lock
// says nothing of the node.
func (l *Locker) observeFailure(node, kind int, op string, err error) {
	if err != nil && isRecordError(err) {
		return
	}
	failure := ""
	if _, unreachable := errors.AsType[net.Error](err); unreachable || errors.Is(err, io.EOF) {
		failure = "unreachable" // in which of many words is a matter of chance
	} else if err != nil {
		failure = strings.Map(noDigits, err.Error())
	}
	news := l.observed.change(node, func(s *nodeState) bool {
		l.observed.noteAwayLocked(s, kind, err)
		news := s.failure[kind] != failure && (err == nil || s.mayTell())
		if news {
			s.failure[kind] = failure
		}
		return news
	})
	if news && err != nil {
		l.tellError(node, op, err)
	}
}

// noDigits drops what differs in errors that are the same: ports and times.
func noDigits(r rune) rune {
	if r >= '0' && r <= '9' {
		return -1
	}
	return r
}

// observeLongest learns of leases longer than ours: the node's guard lasts for the longest.
func (l *Locker) observeLongest(node int, longest time.Duration) {
	news := l.observed.change(node, func(s *nodeState) bool {
		news := longest != s.longest && s.mayTell()
		if news {
			s.longest = longest
		}
		return news
	})
	if news {
		l.observed.longest.Store(max(l.observed.longest.Load(), int64(longest)))
		l.tellError(node, "max ttl", fmt.Errorf("%w: leases of up to %v are in use under prefix %q, here max ttl is %v: "+
			"all that use a prefix must have the same", ErrConfig, longest, l.settings.KeyPrefix, l.settings.MaxTTL))
	}
}

// observeDenied tells once what a node's rights lack, and what is done without it.
func (l *Locker) observeDenied(node int, op string, err error) {
	news := l.observed.change(node, func(s *nodeState) bool {
		news := !s.denied[op]
		if s.denied == nil {
			s.denied = make(map[string]bool)
		}
		s.denied[op] = true
		return news
	})
	if news {
		l.tellError(node, op, err)
	}
}

func (l *Locker) tellError(node int, op string, err error) {
	if l.settings.hooks.NodeError != nil {
		l.settings.hooks.NodeError(l.quorum.Addr(node), op, err)
	}
}
