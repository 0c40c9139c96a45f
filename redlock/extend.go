package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Extend prolongs the lease by its TTL, counted from now, if a majority of nodes confirms that it is still ours. After
// [ErrNoQuorum] the outcome is unknown and the lease is valid until its old deadline, so try again. A lease that has
// ended stays ended. Extend then returns [ErrExpired] after the deadline, [ErrLost] if a majority no longer has the
// lock or has it for somebody else, or [ErrReleased]. It never acquires the lock again, because somebody may have held
// it in between.
func (s *Lease) Extend(ctx context.Context) error {
	err := s.expire()
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("redlock: extend %q: %w", s.grant.name, context.Cause(ctx))
	}

	err = s.locker.extend(ctx, []*Lease{s})[0]
	s.lose(err)
	return err
}

// extend asks once for all these leases together, and returns the outcome of each. The caller must end the leases that
// are lost.
func (l *Locker) extend(ctx context.Context, leases []*Lease) []error {
	e := newExtending(l.jury, leases)
	sent := l.clock.Now()
	round, cause := quorum.Ask(ctx, l.quorum, l.commands.extend.Call(e), e.isDecided)
	answers := round.Answers()
	now := l.clock.Now()
	errs := make([]error, len(leases))
	all := e.allExtended(answers)
	for i, lease := range leases {
		if !all {
			if one := e.answersTo(nil, i, answers); l.jury.count(one, timed).yes < l.need {
				lease.grant.unconfirmed.Store(true)
				failed := l.jury.failed("extend", lease.grant.name, one, timed, ErrLost, cause)
				errs[i] = cmp.Or(lease.expire(), failed) // it may have ended meanwhile
				continue
			}
		}
		lease.grant.unconfirmed.Store(false)
		errs[i] = lease.prolong(validUntil(sent, lease.grant.ttl), now)
	}
	round.Then(func(node int, a quorum.Answer[extension]) { e.answered(node, a, errs) })
	return errs
}

// extending is one call that extends several leases and raises their numbers.
type extending struct {
	jury   *jury
	leases []*Lease
	locks  string // the script's argument for all of them

	// known has the nodes that have answered for every one of the leases before. Only their yes counts: a clock that
	// was set back before a node's first answer cannot be detected.
	known nodeSet
}

func newExtending(j *jury, leases []*Lease) *extending {
	e := &extending{jury: j, leases: leases, known: ^nodeSet(0)}
	length := 0
	for _, s := range leases {
		e.known &= s.grant.known(j.size)
		length += 37 + len(s.grant.field) + len(s.grant.value)
	}
	locks := make([]byte, 0, length)
	for _, s := range leases {
		g := s.grant
		locks = appendDigits(locks, s.token, 16)
		locks = appendDigits(locks, uint64(g.ttlMillis), 12)
		locks = append(locks, g.mark())
		locks = appendDigits(locks, uint64(len(g.field)), 4)
		locks = appendDigits(locks, uint64(len(g.value)), 4)
		locks = append(append(locks, g.field...), g.value...)
	}
	e.locks = string(locks)
	return e
}

// digits formats a fencing number as records store it.
func digits(n uint64) string { return string(appendDigits(nil, n, 16)) }

// appendDigits appends n with leading zeros. Scripts compare numbers as texts.
func appendDigits(b []byte, n uint64, width int) []byte {
	b = append(b, "0000000000000000"[:width]...)
	for i := len(b) - 1; n > 0; i, n = i-1, n/10 {
		b[i] = byte('0' + n%10)
	}
	return b
}

// mark returns '?' if the last extension was not confirmed, and a space otherwise; the records of the lease store it. A
// holder that is cut off from a majority keeps extending its records on the other nodes, and waiting processes must not
// wait for these.
func (g *grant) mark() byte {
	if g.unconfirmed.Load() {
		return '?'
	}
	return ' '
}

func (e *extending) AppendArgs(_ int, args []any) []any { return append(args, &e.locks) }

// isDecided reports whether the answers so far decide the outcome for every lease.
func (e *extending) isDecided(answers []quorum.Answer[extension]) bool {
	if e.allExtended(answers) {
		return true
	}
	var space [quorum.UsualNodes]answer
	for i := range e.leases {
		if !e.jury.isDecided(e.answersTo(space[:0], i, answers), timed) {
			return false
		}
	}
	return true
}

// allExtended reports whether a majority of nodes has extended every one of the leases.
func (e *extending) allExtended(answers []quorum.Answer[extension]) bool {
	var space [quorum.UsualNodes]answer
	return e.jury.count(e.answersTo(space[:0], together, answers), timed).yes >= e.jury.need
}

// together stands for all leases of a call: the answer about them is yes if all were extended.
const together = -1

// answersTo appends what the nodes said about the i-th lease.
func (e *extending) answersTo(all []answer, i int, answers []quorum.Answer[extension]) []answer {
	for node := range answers {
		all = append(all, e.answerTo(i, node, &answers[node]))
	}
	return all
}

func (e *extending) answerTo(i, node int, a *quorum.Answer[extension]) answer {
	one := answer{
		Over: a.Over, Err: a.Err, Header: a.Header, Took: a.Took, Received: a.Received, Resent: a.Resent,
	}
	known := e.known
	switch {
	case !a.Over || a.Err != nil:
	case i == together:
		one.Value.yes = a.Value.all
	default:
		known = e.leases[i].grant.known(e.jury.size)
		one.Value, one.Err = a.Value.of(i)
	}
	if one.Value.yes && !known.has(node) {
		one.Value, one.Err = reply{}, errFirstSeen
	}
	if one.Value.yes && i != together { // which has none: then each lease is judged alone
		one.Value.placed = e.leases[i].grant.placed(node)
	}
	return one
}

// answered handles an answer, early or late. From now on the leases know the node's clock. Leases that the node has
// lost are repaired there if they were extended.
func (e *extending) answered(node int, a quorum.Answer[extension], errs []error) {
	for i, lease := range e.leases {
		if !a.Value.all {
			one := e.answerTo(i, node, &a)
			switch {
			case one.Err != nil || one.Value.yes || errs[i] != nil:
			case one.Value.held:
				lease.repairSoon()
			default:
				lease.repair(node)
			}
		}
		if a.Time != 0 {
			lease.grant.answered.add(nodeSet(0).with(node))
		}
	}
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

// prolong moves the deadline forward. It never moves it back, since extensions may overlap, and does nothing for a
// lease that has ended in the meantime.
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
