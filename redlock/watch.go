package redlock

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// sight is what was last seen of a node, so that the hooks tell of changes alone.
type sight struct {
	guarded bool
	failure [3]string // the latest of each kind, empty if all is well
	longest time.Duration
	denied  map[string]bool // what the node's rights lack
}

// The kinds of failure, which come and go apart.
const (
	inCall = iota
	inPush
	inFitness
)

// observe sees every answer of a node, before anybody judges it.
func (l *Locker) observe(node int, s *quorum.Script, a quorum.Answer) {
	if t, ok := micros(a); ok {
		seen := l.clocks.Note(node, a.Sent, a.Received, t)
		if seen.Slept > 0 {
			l.clock.Advance(seen.Slept)
		}
		if seen.Jumped != 0 && l.settings.hooks.ClockJump != nil {
			l.settings.hooks.ClockJump(l.quorum.Addr(node), seen.Jumped)
		}
	}
	l.observeFailure(node, inCall, s.Name(), a.Err)
	switch s {
	case acquireScript, repairScript:
		l.observeGuard(node, a)
	case releaseScript:
		if fields, ok := a.Reply.([]any); ok && len(fields) == 3 && fields[2] == int64(0) {
			l.observeDenied(node, "publish", errors.New("PUBLISH is not permitted: those who wait for a "+
				"lock wait for the holder's TTL"))
		}
	}
	if a.Err != nil && redis.HasErrorPrefix(a.Err, "READONLY") {
		l.quorum.Inspect(node)
	}
}

func (l *Locker) observeFailure(node, kind int, op string, err error) {
	failure := ""
	if err != nil {
		failure = strings.Map(noDigits, err.Error())
	}
	l.sightMu.Lock()
	news := l.sights[node].failure[kind] != failure
	l.sights[node].failure[kind] = failure
	l.sightMu.Unlock()
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

// observeGuard sees what a script said that grants.
func (l *Locker) observeGuard(node int, a quorum.Answer) {
	r, err := parseReply(a)
	guard, guarded := errors.AsType[guardedError](err)
	if err != nil && !guarded {
		return
	}
	if r.longest > 0 {
		l.observeLongest(node, r.longest)
	}
	l.sightMu.Lock()
	news := l.sights[node].guarded != guarded
	l.sights[node].guarded = guarded
	l.sightMu.Unlock()
	if news && guarded {
		l.quorum.Inspect(node) // it is another server, or was another
	}
	if news && l.settings.hooks.Guarded != nil {
		l.settings.hooks.Guarded(l.quorum.Addr(node), guard.left)
	}
}

// observeLongest learns of leases longer than ours: every node waits for the longest.
func (l *Locker) observeLongest(node int, longest time.Duration) {
	l.sightMu.Lock()
	news := longest > l.settings.MaxTTL && longest != l.sights[node].longest
	l.sights[node].longest = longest
	l.longest = max(l.longest, longest)
	l.sightMu.Unlock()
	if news {
		l.tellError(node, "max ttl", fmt.Errorf("%w: leases of up to %v are in use under prefix %q, here "+
			"max ttl is %v: all that use a prefix must have the same", ErrConfig, longest,
			l.settings.KeyPrefix, l.settings.MaxTTL))
	}
}

// observeDenied tells once what a node's rights lack, and what is done without it.
func (l *Locker) observeDenied(node int, op string, err error) {
	l.sightMu.Lock()
	news := !l.sights[node].denied[op]
	if l.sights[node].denied == nil {
		l.sights[node].denied = make(map[string]bool)
	}
	l.sights[node].denied[op] = true
	l.sightMu.Unlock()
	if news {
		l.tellError(node, op, err)
	}
}

func (l *Locker) tellError(node int, op string, err error) {
	if l.settings.hooks.NodeError != nil {
		l.settings.hooks.NodeError(l.quorum.Addr(node), op, err)
	}
}

// longestLease is the longest that anybody under the prefix is known to use, in milliseconds; 0
// without a guard.
func (l *Locker) longestLease() int64 {
	if !l.settings.RestartGuard {
		return 0
	}
	l.sightMu.Lock()
	defer l.sightMu.Unlock()
	return l.longest.Milliseconds()
}
