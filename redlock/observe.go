package redlock

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/refusal"
	"github.com/redlockfx/redlockfx/internal/retry"
)

// observed is the last observed state of the nodes, so that the hooks tell of changes alone.
type observed struct {
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
	guardTold bool            // to the hook
	failure   [3]string       // the latest of each kind, empty if all is well
	failing   time.Time       // since then, calls and subscriptions have failed; zero: the latest one did not
	away      error           // the listeners know that it fails, and how; nil: it works
	longest   time.Duration   // lease that its guard knows of
	number    error           // the latest number that was not believed
	seen      time.Time       // when that was
	told      time.Time       // when the hook was told of such a thing
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

// longestLease is the longest lease that any node tells of now.
func (o *observed) longestLease() (longest time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.nodes {
		longest = max(longest, s.longest)
	}
	return longest
}

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
	if err := cmp.Or(a.Err, l.checkAhead(&a)); err != nil && isNumberError(err) {
		l.observeNumber(node, "acquire", err)
	}
	switch {
	case a.Err == nil && !a.Value.yes, a.Err != nil && !guarded:
		return // the guard was not looked at
	case guarded:
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
// does not mean that the node fails.
func (l *Locker) observeFailure(node, kind int, op string, err error) {
	if err != nil && isRecordError(err) {
		if isNumberError(err) {
			l.observeNumber(node, op, err)
		}
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

// numberEvery is how often the hook is told of forged numbers on a node, and how long [NodeStatus.Number] tells of the latest.
const numberEvery = time.Minute

// observeNumber tells the hook that a node has a number that is not believed. That may be so with each call, and of many locks.
func (l *Locker) observeNumber(node int, op string, err error) {
	now := l.clock.Now()
	if l.observed.change(node, func(s *nodeState) bool {
		news := s.told.IsZero() || now.Sub(s.told) >= numberEvery
		if s.number, s.seen = err, now; news {
			s.told = now
		}
		return news
	}) {
		l.tellError(node, op, err)
	}
}

// wrongNumber is the number that a node had lately and that is not believed; nil: there was none.
func (l *Locker) wrongNumber(node int) (err error) {
	now := l.clock.Now()
	l.observed.change(node, func(s *nodeState) bool {
		if now.Sub(s.seen) < numberEvery {
			err = s.number
		}
		return false
	})
	return err
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
		news := longest != s.longest && longest > l.settings.MaxTTL && s.mayTell()
		s.longest = longest
		return news
	})
	if news {
		l.tellError(node, "max ttl", fmt.Errorf("%w: leases of up to %v are in use under prefix %q, here max ttl is %v: "+
			"all that use a prefix must have the same", ErrConfig, longest, l.settings.KeyPrefix, l.settings.MaxTTL))
	}
}

// quarantine is for how long a node does not count whose clock was stepped: for the longest lease that any node tells of, which one
// wrong number makes no longer than a guard.
func (l *Locker) quarantine() time.Duration {
	own := l.settings.MaxTTL
	return max(own, min(l.observed.longestLease(), max(24*time.Hour, 100*own)))
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
