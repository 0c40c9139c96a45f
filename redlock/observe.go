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

// observed is the last observed state of the nodes. It lets hooks report changes only.
type observed struct {
	mu        sync.Mutex // guards the fields below
	nodes     []nodeState
	listeners map[*listener]struct{} // calls of OnNode that are not stopped
	calling   int                    // number of their functions that are running
}

// nodeState is the last observed state of one node.
type nodeState struct {
	inspection
	inspected     bool
	guarded       bool
	guardReported bool            // guarded, as last reported to the hook
	failure       [3]string       // latest failure of each kind; empty if none
	failing       time.Time       // start of the current failures of calls and subscriptions; zero: the last one succeeded
	away          error           // failure that listeners were notified of; nil: the node works
	wrong         error           // implausible number that they were notified of; nil: there was none lately
	longest       time.Duration   // longest lease that its guard knows of
	number        error           // latest implausible number
	seen          time.Time       // when it was seen
	numbers       retry.Pace      // of hook calls for such numbers
	denied        map[string]bool // operations that the node denies
	pace          retry.Pace      // of hook calls: the node controls its errors, its clock and its guard
}

// The kinds of failure, which start and end independently.
const (
	inCall = iota
	inPush
	inFitness
)

func newObserved(nodes int) *observed {
	o := &observed{nodes: make([]nodeState, nodes), listeners: make(map[*listener]struct{})}
	for i := range o.nodes {
		o.nodes[i].pace = retry.Pace{Burst: 20, Every: time.Second}
		o.nodes[i].numbers = retry.Pace{Burst: 1, Every: numberEvery}
	}
	return o
}

// mayReport reports whether a hook may be called for the node. A change that is not reported now may be reported later.
func (s *nodeState) mayReport() bool { return s.pace.Allow(time.Now()) }

// longestLease returns the longest lease that any node knows of now.
func (o *observed) longestLease() (longest time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.nodes {
		longest = max(longest, s.longest)
	}
	return longest
}

// change runs fn on the state of one node, and returns its result.
func (o *observed) change(node int, fn func(s *nodeState) bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return fn(&o.nodes[node])
}

// see observes every exchange with a node, before its answer is used.
func (l *Locker) see(node int, e quorum.Exchange) {
	if e.Time != 0 {
		seen := l.clocks.Note(node, e.Sent, e.Received, e.Time)
		if seen.Slept > 0 {
			l.clock.Advance(seen.Slept)
		}
		if seen.Jumped != 0 && l.settings.hooks.ClockJump != nil && l.observed.change(node, (*nodeState).mayReport) {
			l.settings.hooks.ClockJump(l.quorum.Addr(node), seen.Jumped)
		}
	}
	l.observeFailure(node, inCall, e.Script, e.Err)
	switch refusal.Code(e.Err) {
	case refusal.ReadOnly:
		l.quorum.Inspect(node)
	case refusal.OutOfMemory:
		l.janitors[node].makeRoom()
	}
}

// seeGrant observes a node's answer to a grant or a repair.
func (l *Locker) seeGrant(node int, a answer) {
	guard, guarded := errors.AsType[guardedError](a.Err)
	if err := cmp.Or(a.Err, l.jury.checkAhead(&a)); err != nil && isNumberError(err) {
		l.observeNumber(node, "acquire", err)
	}
	switch {
	case a.Err == nil && !a.Value.yes, a.Err != nil && !guarded:
		return // the script did not check the guard
	case guarded:
		l.observeLongest(node, a.Value.longest)
	}
	other := false  // the server is not the one that was inspected
	begins := false // its guard starts
	changed := l.observed.change(node, func(s *nodeState) bool {
		other = a.Identity != 0 && s.inspected && s.identity != 0 && s.identity != a.Identity
		begins = guarded && !s.guarded
		s.guarded = guarded
		changed := s.guardReported != guarded && s.mayReport()
		if changed {
			s.guardReported = guarded
		}
		return changed
	})
	if other || begins {
		l.quorum.Inspect(node)
	}
	if changed && l.settings.hooks.Guarded != nil {
		l.settings.hooks.Guarded(l.quorum.Addr(node), guard.left)
	}
}

// seeRelease observes a node's answer to a release.
func (l *Locker) seeRelease(node int, a answer) {
	if a.Err == nil && a.Value.unpublished {
		l.observeDenied(node, "publish", errors.New("PUBLISH is not permitted: waiting callers do not learn of a release and "+
			"wait until the holder's lease has expired"))
	}
}

// observeFailure reports a failure to the hook, unless it is the same as the last one. A problem with the record of one
// lock is not a failure of the node.
func (l *Locker) observeFailure(node, kind int, op string, err error) {
	if err != nil && isRecordError(err) {
		if isNumberError(err) {
			l.observeNumber(node, op, err)
		}
		return
	}
	failure := ""
	_, unreachable := errors.AsType[net.Error](err)
	if (unreachable || errors.Is(err, io.EOF)) && !errors.Is(err, quorum.ErrNoConnection) {
		failure = "unreachable" // the exact error varies by chance
	} else if err != nil {
		failure = strings.Map(noDigits, err.Error())
	}
	changed := l.observed.change(node, func(s *nodeState) bool {
		l.observed.noteAwayLocked(s, kind, err)
		if s.wrong != nil && l.clock.Now().Sub(s.seen) >= numberEvery {
			s.wrong = nil
			l.observed.signalLocked()
		}
		changed := s.failure[kind] != failure && (err == nil || s.mayReport())
		if changed {
			s.failure[kind] = failure
		}
		return changed
	})
	if changed && err != nil {
		l.reportError(node, op, err)
	}
}

// numberEvery is the time between hook calls for implausible numbers of a node, and how long [NodeStatus.Number] shows
// the latest.
const numberEvery = time.Minute

// observeNumber reports an implausible number of a node to the hook. There may be one in every call, for many locks.
func (l *Locker) observeNumber(node int, op string, err error) {
	now := l.clock.Now()
	if l.observed.change(node, func(s *nodeState) bool {
		s.number, s.seen = err, now
		if s.wrong == nil {
			s.wrong = err
			l.observed.signalLocked()
		}
		return s.numbers.Allow(now)
	}) {
		l.reportError(node, op, err)
	}
}

// wrongNumber returns the node's latest implausible number, nil if there was none lately.
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

// noDigits drops digits, such as ports and times, that differ between otherwise equal errors.
func noDigits(r rune) rune {
	if r >= '0' && r <= '9' {
		return -1
	}
	return r
}

// observeLongest records leases longer than ours: a node's guard lasts for the longest.
func (l *Locker) observeLongest(node int, longest time.Duration) {
	changed := l.observed.change(node, func(s *nodeState) bool {
		changed := longest != s.longest && longest > l.settings.MaxTTL && s.mayReport()
		s.longest = longest
		return changed
	})
	if changed {
		l.reportError(node, "max ttl", fmt.Errorf("%w: leases of up to %v are in use under prefix %q, here max ttl is %v: "+
			"all users of a prefix must have the same max ttl", ErrConfig, longest, l.settings.KeyPrefix, l.settings.MaxTTL))
	}
}

// quarantine returns how long a node does not count after its clock was stepped: the longest lease that any node knows
// of. One wrong number cannot make it longer than a guard.
func (l *Locker) quarantine() time.Duration {
	own := l.settings.MaxTTL
	return max(own, min(l.observed.longestLease(), max(24*time.Hour, 100*own)))
}

// observeDenied reports, once, an operation that the node denies and its consequences.
func (l *Locker) observeDenied(node int, op string, err error) {
	changed := l.observed.change(node, func(s *nodeState) bool {
		changed := !s.denied[op]
		if s.denied == nil {
			s.denied = make(map[string]bool)
		}
		s.denied[op] = true
		return changed
	})
	if changed {
		l.reportError(node, op, err)
	}
}

func (l *Locker) reportError(node int, op string, err error) {
	if l.settings.hooks.NodeError != nil {
		l.settings.hooks.NodeError(l.quorum.Addr(node), op, err)
	}
}
