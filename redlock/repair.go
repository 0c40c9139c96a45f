package redlock

import (
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// repairAfter is the time after which another contender has usually removed its record. It is short, so that the node is
// repaired before the process that released the lock has further waiting processes notified.
const repairAfter = apart / 2

// repairSoon has the lease extended soon, because a node has the lock for another contender, whose attempt fails. The
// extension repairs the node once it has the lock for nobody. Until then the lock looks free there: waiting processes ask
// again, and may have it there once more. So the extensions go on, with growing pauses.
func (s *Lease) repairSoon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.renewal != nil {
		s.locker.renewer.repairSoon(s.renewal)
	}
}

// repair is a request to restore the lock on one node.
type repair struct {
	lease    *Lease
	token    string
	until    time.Time // when it is too late
	notAfter int64     // the same by the node's clock
}

// never makes a repair do nothing: no node's clock is before it.
var never int64 = 1

// AppendArgs makes the repair do nothing if the lease has ended. So a repair that follows the release in the node's queue
// does not set the lock again.
func (r *repair) AppendArgs(node int, args []any) []any {
	s, g := r.lease, r.lease.grant
	notAfter := &never
	if s.heldAt(s.locker.clock.Now()) {
		notAfter = g.notAfter.argument(node, r.until, &r.notAfter)
	}
	return append(args, &g.field, &g.value, &g.ttlMillis, &r.token, notAfter)
}

// Name keeps a later release behind the repair.
func (r *repair) Name() string { return r.lease.grant.field }

// repair restores the lock on a node that answered an extension with "gone": the node voted for another contender when
// the lease was won, was unreachable, or has lost its data. It requires that a majority has confirmed the lock in the
// same round and that the lease is still held, so it never revives a lease that has ended. The repaired node has no
// vote in that round, and refuses while its guard lasts.
func (s *Lease) repair(node int) {
	l := s.locker
	now := l.clock.Now()
	member := l.member.Load()
	if !s.heldAt(now) || member == nil {
		return
	}
	s.grant.repaired.add(nodeSet(0).with(node))
	r := &repair{lease: s, token: digits(s.token), until: now.Add(l.settings.NodeTimeout)}
	round := quorum.Prepare(l.quorum, node, member.repair.Call(r))
	round.Then(func(_ int, a answer) {
		switch {
		case a.Err != nil:
		case a.Value.held:
			s.repairSoon()
		case a.Value.yes:
			l.observed.report(node, NodeEvent{Kind: NodeRepaired, Lock: s.grant.name})
		}
	})
	round.Send()
}
