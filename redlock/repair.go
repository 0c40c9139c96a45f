package redlock

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// repair is a request to set the lock on one node again.
type repair struct {
	*grant
	token    string
	notAfter notAfter
	round    *round
}

func (r *repair) AppendArgs(node int, args []any) []any {
	return append(args, &r.field, &r.value, &r.ttlMillis, &r.token, r.notAfter.argument(node))
}

// repair sets the lock again on a node that answered an extension with "gone": it voted for another contender when the
// lease was won, or was away, or has lost its data. It is done from strength only, after a majority has said in the same
// round that the lock is still ours, and while the lease is held; so a lease never comes back from the dead. The repaired
// node has no vote in that round, and while its guard lasts it refuses.
func (s *Lease) repair(node int) {
	l := s.locker
	r := &repair{grant: s.grant, token: digits(s.token), notAfter: l.notAfter(l.clock.Now())}
	r.round = quorum.Prepare(l.quorum, node, l.commands.repair.Call(r))
	if !s.keepRepair(node, r) {
		return
	}
	r.round.Then(func(_ int, a answer) {
		if a.Err == nil && a.Value.yes && l.settings.hooks.Repaired != nil {
			l.settings.hooks.Repaired(l.quorum.Addr(node), s.name)
		}
	})
	r.round.Send()
}

// keepRepair notes what a release has to wait for; false if the lease is over, or while an earlier repair of the node may
// yet act: a release waits for one.
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

// mayAct reports whether the node may yet do it: it has not answered, and its clock may not be past the instant up to
// which it would.
func (r *repair) mayAct(node int, now time.Time) bool {
	a := r.round.Answer(0)
	if !a.Over {
		return true
	}
	earliest, _, _ := r.notAfter.clocks.Bounds(node, now)
	return (isUnknown(a.Err) || a.Resent) && earliest <= r.notAfter.of(node)
}

// afterSets calls send for each node when what may set the lock there is over: the grant, and the last repair. A release
// sent any earlier could be overtaken.
func (s *Lease) afterSets(send func(node int)) {
	s.mu.Lock()
	repairs := s.repairs // the lease is over: nobody writes it any more
	s.mu.Unlock()
	s.round.Then(func(node int, _ answer) {
		if repair := repairs[node]; repair != nil {
			repair.round.Then(func(int, answer) { send(node) })
			return
		}
		send(node)
	})
}

// mayBeSet reports whether the node may yet set the lock, since it did not answer what sets it, or was sent it twice; and
// until when, by its own clock: 0 if that is not known.
func (s *Lease) mayBeSet(node int) (late bool, notAfter int64) {
	if a := s.round.Answer(node); isUnknown(a.Err) || a.Resent {
		late, notAfter = true, s.notAfter.of(node)
	}
	s.mu.Lock()
	repair := s.repairs[node]
	s.mu.Unlock()
	if repair == nil {
		return late, notAfter
	}
	if a := repair.round.Answer(0); isUnknown(a.Err) || a.Resent {
		late, notAfter = true, max(notAfter, repair.notAfter.of(node))
	}
	return late, notAfter
}
