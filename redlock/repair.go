package redlock

import (
	"time"

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

// beginExtension notes that an extension begins, which is one for repairs or a regular one.
func (s *Lease) beginExtension(repairs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if repairs {
		s.repairing = false
	} else {
		s.disputed = 0
	}
}

// repair is a request to restore the lock on one node.
type repair struct {
	*grant
	token    string
	notAfter notAfter
	round    *round
}

func (r *repair) AppendArgs(node int, args []any) []any {
	return append(args, &r.field, &r.value, &r.ttlMillis, &r.token, r.notAfter.argument(node))
}

// repair restores the lock on a node that answered an extension with "gone": the node voted for another contender when
// the lease was won, was unreachable, or has lost its data. It requires that a majority has confirmed the lock in the
// same round and that the lease is still held, so it never revives a lease that has ended. The repaired node has no
// vote in that round, and refuses while its guard lasts.
func (s *Lease) repair(node int) {
	l := s.locker
	r := &repair{grant: s.grant, token: digits(s.token), notAfter: l.notAfter(l.clock.Now())}
	r.round = quorum.Prepare(l.quorum, node, l.commands.repair.Call(r))
	if !s.keepRepair(node, r) {
		return
	}
	r.round.Then(func(_ int, a answer) {
		switch {
		case a.Err != nil:
		case a.Value.held:
			s.repairSoon()
		case a.Value.yes && l.settings.hooks.Repaired != nil:
			l.settings.hooks.Repaired(l.quorum.Addr(node), s.name)
		}
	})
	r.round.Send()
}

// keepRepair records a repair for which a release must wait. It returns false if the lease has ended, or while an
// earlier repair of the node may still act, because a release waits for only one.
func (s *Lease) keepRepair(node int, r *repair) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heldLocked() != nil {
		return false
	}
	if last := s.repairs[node]; last != nil && last.mayAct(node, s.locker.clock.Now()) {
		return false
	}
	if s.repairs == nil {
		s.repairs = make(map[int]*repair)
	}
	s.repairs[node] = r
	return true
}

// mayAct reports whether the node may still act on the repair: it has not answered, and its clock may not have passed
// the request's limit.
func (r *repair) mayAct(node int, now time.Time) bool {
	a := r.round.Answer(0)
	if !a.Over {
		return true
	}
	earliest, _, _ := r.notAfter.clocks.Bounds(node, now)
	return (isUnknown(a.Err) || a.Resent) && earliest <= r.notAfter.of(node)
}

// afterSets calls send for each node once the requests that may set the lock there have ended: the grant and the last
// repair. A release sent earlier could overtake them.
func (s *Lease) afterSets(send func(node int)) {
	s.mu.Lock()
	repairs := s.repairs // the lease has ended, so the map no longer changes
	s.mu.Unlock()
	s.round.Then(func(node int, _ answer) {
		if repair := repairs[node]; repair != nil {
			repair.round.Then(func(int, answer) { send(node) })
			return
		}
		send(node)
	})
}

// mayBeSet reports whether the node may have the lock, by the grant or the last repair. late says that it may still set
// it, because it did not answer, or received the request twice. notAfter is until when, by the node's clock; 0 if not
// known.
func (s *Lease) mayBeSet(node int) (set, late bool, notAfter int64) {
	add := func(a answer, until int64) {
		set = set || mayBeSet(a)
		if isUnknown(a.Err) || a.Resent {
			late, notAfter = true, max(notAfter, until)
		}
	}
	add(s.round.Answer(node), s.notAfter.of(node))
	s.mu.Lock()
	repair := s.repairs[node]
	s.mu.Unlock()
	if repair != nil {
		add(repair.round.Answer(0), repair.notAfter.of(node))
	}
	return set, late, notAfter
}
