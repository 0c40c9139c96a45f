package redlock

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// repair is a request to set the lock on one node again.
type repair struct {
	round  *quorum.Round
	before *bestBefore
}

// repair sets the lock again on each node that answered an extension with "gone": it voted for
// another contender when the lease was won, or was away, or has lost its data. It is done from
// strength only, after a majority has said in the same round that the lock is still ours, and while
// the lease is held; so a lease never comes back from the dead. The repaired node has no vote in that
// round, and while its guard lasts it refuses.
func (l *Lease) repair(confirmed *quorum.Round, q question) {
	k := l.locker
	confirmed.Then(func(node int, a quorum.Answer) {
		if answer, err := q.read(a); err != nil || answer.yes || answer.value != "" {
			return
		}
		before := k.bestBefore(k.clock.Now())
		call := repairScript.Call([]string{l.key, l.fence, k.guardKey()},
			l.value, l.ttl.Milliseconds(), k.longestLease(), k.quorum.Size(), l.token).
			WithLast(before.at)
		round := k.quorum.Node(l.base, node, call)
		if !l.keepRepair(node, &repair{round, before}) {
			return
		}
		round.Then(func(_ int, a quorum.Answer) {
			if r, err := parseReply(a); err == nil && r.yes && k.settings.hooks.Repaired != nil {
				k.settings.hooks.Repaired(k.quorum.Addr(node), l.name)
			}
		})
		round.Send()
	})
}

// keepRepair notes what a release has to wait for; false if the lease is over, or while an earlier repair
// of the node may yet act: a release waits for one.
func (l *Lease) keepRepair(node int, r *repair) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.heldLocked() != nil {
		return false
	}
	if last := l.repairs[node]; last != nil && last.mayAct(node, l.locker.clock.Now()) {
		return false
	}
	if l.repairs == nil {
		l.repairs = make(map[int]*repair)
	}
	l.repairs[node] = r
	return true
}

// mayAct tells whether the node may yet do it: it has not answered, and its clock may not be past the
// instant up to which it would.
func (r *repair) mayAct(node int, now time.Time) bool {
	a := r.round.Answer(0)
	earliest, _, _ := r.before.clocks.Bounds(node, now)
	return !a.Over || isUnknown(a) && earliest <= r.before.of(node)
}

// afterSets calls send for each node when what may set the lock there is over: the grant, and the
// last repair. A release sent any earlier could be overtaken.
func (l *Lease) afterSets(send func(node int)) {
	l.mu.Lock()
	repairs := l.repairs // the lease is over: nobody writes it any more
	l.mu.Unlock()
	l.round.Then(func(node int, _ quorum.Answer) {
		if repair := repairs[node]; repair != nil {
			repair.round.Then(func(int, quorum.Answer) { send(node) })
			return
		}
		send(node)
	})
}

// mayBeSet tells whether the node may yet set the lock, since it did not answer what sets it; and
// until when, by its own clock: 0 if that is not known.
func (l *Lease) mayBeSet(node int) (late bool, before int64) {
	if isUnknown(l.round.Answer(node)) {
		late, before = true, l.before.of(node)
	}
	l.mu.Lock()
	repair := l.repairs[node]
	l.mu.Unlock()
	if repair != nil && isUnknown(repair.round.Answer(0)) {
		late, before = true, repair.before.of(node)
	}
	return late, before
}
