package redlock

import "github.com/redlockfx/redlockfx/internal/quorum"

// repair sets the lock again on each node that answered an extension with "gone": it voted for
// another contender when the lease was won, or was away. It is done from strength only, after a
// majority has said in the same round that the lock is still ours, and while the lease is held; so
// a lease never comes back from the dead. The repaired node has no vote in that round.
func (l *Lease) repair(confirmed *quorum.Round) {
	k := l.locker
	confirmed.Then(func(node int, a quorum.Answer) {
		if answer, err := parseReply(a); err != nil || answer.yes || answer.value != "" {
			return
		}
		call := repairScript.Call([]string{l.key, k.fenceKey(l.name)},
			l.value, l.ttl.Milliseconds(), l.token)
		round := k.quorum.Node(l.base, node, call)
		if l.keepRepair(node, round) {
			round.Send()
		}
	})
}

// keepRepair notes what a release has to wait for; false if the lease is over.
func (l *Lease) keepRepair(node int, round *quorum.Round) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.heldLocked() != nil {
		return false
	}
	if l.repairs == nil {
		l.repairs = make(map[int]*quorum.Round)
	}
	l.repairs[node] = round
	return true
}

// afterSets calls send for each node when what may set the lock there is over: the grant, and the
// last repair. A release sent any earlier could be overtaken.
func (l *Lease) afterSets(send func(node int)) {
	l.mu.Lock()
	repairs := l.repairs // the lease is over: nobody writes it any more
	l.mu.Unlock()
	l.grants.Then(func(node int, _ quorum.Answer) {
		if repair := repairs[node]; repair != nil {
			repair.Then(func(int, quorum.Answer) { send(node) })
			return
		}
		send(node)
	})
}

// mayBeSetLate tells that the node did not answer what sets the lock, so that it may yet do so.
func (l *Lease) mayBeSetLate(node int) bool {
	if isUnknown(l.grants.Answers()[node]) {
		return true
	}
	l.mu.Lock()
	repair := l.repairs[node]
	l.mu.Unlock()
	return repair != nil && isUnknown(repair.Answers()[0])
}
