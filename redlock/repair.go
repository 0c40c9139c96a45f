package redlock

import (
	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/retry"
)

// repairAfter is the time after which another contender has usually removed its record. It is short, so that the node is
// repaired before the process that released the lock has further waiting processes notified.
const repairAfter = apart / 2

// repairSoon has the lease extended once more soon, because a node has the lock for another contender, whose attempt
// fails. The extension repairs the node once it has the lock for nobody. Until then the lock looks free there: waiting
// processes ask again, and may have it there once more. So the extensions go on, with growing pauses.
func (s *Lease) repairSoon() {
	s.mu.Lock()
	scheduled := s.repairing || s.extend == nil
	s.repairing = true
	pause := retry.Backoff{Min: repairAfter, Max: 32 * repairAfter}.After(s.disputed)
	s.disputed++
	s.mu.Unlock()
	if !scheduled {
		s.locker.renewer.addRepair(s, pause)
	}
}

// beginExtension notes that an extension begins, which is one for repairs or a regular one. It returns false if the lease
// has ended.
func (s *Lease) beginExtension(repairs bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if repairs {
		s.repairing = false
	} else {
		s.disputed = 0
	}
	return s.heldLocked() == nil
}

// repair is a request to restore the lock on one node.
type repair struct {
	lease    *Lease
	token    string
	notAfter notAfter
}

// never makes a repair do nothing: no node's clock is before it.
var never int64 = 1

// AppendArgs makes the repair do nothing if the lease has ended. So a repair that follows the release in the node's queue
// does not set the lock again.
func (r *repair) AppendArgs(node int, args []any) []any {
	s := r.lease
	var notAfter any = &never
	if s.heldAt(s.locker.clock.Now()) {
		notAfter = r.notAfter.argument(node)
	}
	return append(args, &s.field, &s.value, &s.ttlMillis, &r.token, notAfter)
}

// Name keeps a later release behind the repair.
func (r *repair) Name() string { return r.lease.field }

// repair restores the lock on a node that answered an extension with "gone": the node voted for another contender when
// the lease was won, was unreachable, or has lost its data. It requires that a majority has confirmed the lock in the
// same round and that the lease is still held, so it never revives a lease that has ended. The repaired node has no
// vote in that round, and refuses while its guard lasts.
func (s *Lease) repair(node int) {
	l := s.locker
	now := l.clock.Now()
	if !s.heldAt(now) {
		return
	}
	r := &repair{lease: s, token: digits(s.token), notAfter: l.notAfter(now)}
	round := quorum.Prepare(l.quorum, node, l.commands.repair.Call(r))
	round.Then(func(_ int, a answer) {
		if mayBeSet(a) {
			s.noteRepair(node, a, r.notAfter.of(node))
		}
		switch {
		case a.Err != nil:
		case a.Value.held:
			s.repairSoon()
		case a.Value.yes && l.settings.hooks.Repaired != nil:
			l.settings.hooks.Repaired(l.quorum.Addr(node), s.name)
		}
	})
	round.Send()
}

// noteRepair notes that the node may have the lock by a repair, or may still set it until notAfter.
func (s *Lease) noteRepair(node int, a answer, notAfter int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.repairs == nil {
		s.repairs = make(map[int]int64)
	}
	if !mayAct(a) {
		notAfter = 0
	}
	s.repairs[node] = max(s.repairs[node], notAfter)
}

// mayAct reports whether the node may still act on a request: it did not answer, or was sent the request twice.
func mayAct(a answer) bool { return isUnknown(a.Err) || a.Resent }

// mayBeSet reports whether the node has the lock by this request, or may have it.
func mayBeSet(a answer) bool { return a.Err == nil && a.Value.yes || mayAct(a) }

// mayBeSet reports whether the node may have the lock, by the grant or a repair. late says that it may still set it.
// notAfter is until when, by the node's clock.
func (s *Lease) mayBeSet(node int) (set, late bool, notAfter int64) {
	grant := s.round.Answer(node)
	s.mu.Lock()
	defer s.mu.Unlock()
	repaired, isRepaired := s.repairs[node]
	late = mayAct(grant) || repaired > 0
	if mayAct(grant) {
		notAfter = s.notAfter.of(node)
	}
	return isRepaired || mayBeSet(grant), late, max(notAfter, repaired)
}
