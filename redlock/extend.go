package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Extend prolongs the lease by its TTL, counted from now, if a majority of nodes still has it as ours. [ErrNoQuorum]: not
// known; the lease is valid until its old deadline, so try again. A lease that ended stays ended: [ErrExpired] after its
// deadline, [ErrLost] if on a majority the lock is gone or another's, [ErrReleased]. It is never acquired again: somebody
// may have held the lock in between.
func (s *Lease) Extend(ctx context.Context) error {
	s.mu.Lock()
	err := s.heldLocked()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("redlock: extend %q: %w", s.name, context.Cause(ctx))
	}

	err = s.locker.extend(ctx, []*Lease{s})[0]
	s.lose(err)
	return err
}

// extend asks once for all these leases together, and returns what became of each. One that is lost is the caller's to
// end.
func (l *Locker) extend(ctx context.Context, leases []*Lease) []error {
	grants, tokens := make([]*grant, len(leases)), make([]uint64, len(leases))
	for i, lease := range leases {
		grants[i], tokens[i] = lease.grant, lease.token
	}
	e := newExtending(l, grants, tokens)
	sent := l.clock.Now()
	round, cause := quorum.Ask(ctx, l.quorum, l.commands.extend.Call(e), e.isDecided)
	answers := round.Answers()
	now := l.clock.Now()
	errs := make([]error, len(leases))
	all := e.allExtended(answers)
	for i, lease := range leases {
		if !all {
			if one := e.answersTo(i, answers); l.count(one, timed).yes < l.need {
				lease.unconfirmed.Store(true)
				errs[i] = lease.notExtended(l.failed("extend", lease.name, one, timed, ErrLost, cause))
				continue
			}
		}
		lease.unconfirmed.Store(false)
		valid := validity{sent: sent, ttl: lease.ttl, drift: l.settings.Drift}
		errs[i] = lease.prolong(valid.deadline(), now)
	}
	round.Then(func(node int, a quorum.Answer[extension]) { e.answered(node, a, leases, errs) })
	return errs
}

// extending is one call that extends several holds and raises their numbers.
type extending struct {
	locker *Locker
	grants []*grant
	locks  string // what the script has of all of them

	// known is, by node, whether every hold has had an answer of it before: an extension's yes counts only then, as a clock
	// that was set back in between is noticed only then.
	known nodeSet
}

func newExtending(l *Locker, grants []*grant, tokens []uint64) *extending {
	e := &extending{locker: l, grants: grants, known: ^nodeSet(0)}
	length := 0
	for _, g := range grants {
		e.known &= g.known(l.size)
		length += 37 + len(g.field) + len(g.value)
	}
	locks := make([]byte, 0, length)
	for i, g := range grants {
		locks = appendDigits(locks, tokens[i], 16)
		locks = appendDigits(locks, uint64(g.ttlMillis), 12)
		locks = append(locks, g.mark())
		locks = appendDigits(locks, uint64(len(g.field)), 4)
		locks = appendDigits(locks, uint64(len(g.value)), 4)
		locks = append(append(locks, g.field...), g.value...)
	}
	e.locks = string(locks)
	return e
}

// digits is a fencing number as records have it.
func digits(n uint64) string { return string(appendDigits(nil, n, 16)) }

// appendDigits appends n with zeros before it, as scripts have their numbers: they compare them as texts.
func appendDigits(b []byte, n uint64, width int) []byte {
	b = append(b, "0000000000000000"[:width]...)
	for i := len(b) - 1; n > 0; i, n = i-1, n/10 {
		b[i] = byte('0' + n%10)
	}
	return b
}

// mark is what the records of a hold say of its last extension: a holder that is cut off from a majority goes on to extend
// them on the others, and those who wait are not to wait for these.
func (g *grant) mark() byte {
	if g.unconfirmed.Load() {
		return '?'
	}
	return ' '
}

func (e *extending) AppendArgs(_ int, args []any) []any { return append(args, &e.locks) }

// isDecided reports that the answers so far decide the outcome for each hold.
func (e *extending) isDecided(answers []quorum.Answer[extension]) bool {
	over := 0
	for i := range answers {
		if answers[i].Over {
			over++
		}
	}
	switch {
	case e.allExtended(answers):
		return true
	case over < e.locker.need && over < len(answers):
		return false
	}
	for i := range e.grants {
		if !e.locker.isDecided(e.answersTo(i, answers), timed) {
			return false
		}
	}
	return true
}

// allExtended reports that a majority of nodes has extended every one of the holds.
func (e *extending) allExtended(answers []quorum.Answer[extension]) bool {
	var space [usualNodes]answer
	votes := space[:0]
	for i := range answers {
		a := &answers[i]
		yes := a.Err == nil && a.Value.all && e.known.has(i)
		votes = append(votes, answer{
			Over: a.Over, Err: a.Err, Header: a.Header, Received: a.Received, Value: reply{yes: yes},
		})
	}
	return e.locker.count(votes, timed).yes >= e.locker.need
}

// answersTo are what the nodes said of the i-th hold.
func (e *extending) answersTo(i int, answers []quorum.Answer[extension]) []answer {
	one := make([]answer, len(answers))
	for node := range answers {
		one[node] = e.answerTo(i, node, answers[node])
	}
	return one
}

func (e *extending) answerTo(i, node int, a quorum.Answer[extension]) answer {
	one := answer{
		Over: a.Over, Err: a.Err, Header: a.Header, Sent: a.Sent, Received: a.Received, Resent: a.Resent,
	}
	if a.Over && a.Err == nil {
		one.Value, one.Err = a.Value.of(i)
	}
	if one.Value.yes && !e.grants[i].known(e.locker.size).has(node) {
		one.Value, one.Err = reply{}, errFirstSeen
	}
	return one
}

// answered takes what a node said, early or late: from now on its clock is known to the holds; and those that it has lost
// are set there again, if they were extended.
func (e *extending) answered(node int, a quorum.Answer[extension], leases []*Lease, errs []error) {
	for i, lease := range leases {
		if !a.Value.all {
			one := e.answerTo(i, node, a)
			if one.Err == nil && !one.Value.yes && !one.Value.held && errs[i] == nil {
				lease.repair(node)
			}
		}
		if a.Time != 0 {
			e.grants[i].heard.add(nodeSet(0).with(node))
		}
	}
}

// notExtended is err, or what has ended the lease while the nodes were asked.
func (s *Lease) notExtended(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.heldLocked(), err)
}

// lose ends the lease if err says that it is lost.
func (s *Lease) lose(err error) {
	if !errors.Is(err, ErrLost) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(err)
}

// prolong moves the deadline, never backwards, since extensions may overlap; and not that of a lease that ended while the
// nodes were asked.
func (s *Lease) prolong(deadline, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.heldAtLocked(now); err != nil {
		return err
	}
	if deadline.After(s.deadline) {
		s.deadline = deadline
		if s.timer != nil {
			s.timer.Reset(deadline)
		}
	}
	return nil
}
