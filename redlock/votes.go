package redlock

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// A vote is timed if it depends on the node's clock. Votes for a grant or an extension do, because a clock that was
// stepped forward has ended leases early.
const (
	timed   = true
	untimed = false
)

// isDecided reports whether the outcome is decided. Either a majority has said yes, or no majority can say yes any more
// and it is clear whether the answers of no alone prevent it.
func (l *Locker) isDecided(answers []answer, timed bool) bool {
	open, no := 0, 0
	for i := range answers {
		switch a := &answers[i]; {
		case !a.Over:
			open++
		case a.Err == nil && !a.Value.yes:
			no++
		}
	}
	var space [usualNodes]int
	votes := len(l.voters(space[:0], answers, timed))
	blocking := l.size - l.need + 1
	return votes >= l.need || l.quorum.Decided(votes, open) && (no >= blocking || no+open < blocking)
}

// usualNodes is the usual maximum of nodes; more cost an allocation.
const usualNodes = 9

// voters appends the nodes whose yes counts. Of several nodes that are the same server, only one counts. For timed
// votes, a node counts only if its clock has not jumped lately and agrees with the others, and its number is plausible.
func (l *Locker) voters(voters []int, answers []answer, timed bool) []int {
	for i := range answers {
		a := &answers[i]
		if !a.Over || a.Err != nil || !a.Value.yes || l.twinOf(i, answers) >= 0 {
			continue
		}
		if !timed || l.clocks.Distrust(i, a.Received) == nil {
			voters = append(voters, i)
		}
	}
	if timed {
		voters = l.plausible(voters, answers)
	}
	if timed && len(voters) >= l.need {
		return l.clocks.Agree(voters)
	}
	return voters // untimed, or too few whatever their clocks
}

// uneven is by how much the numbers that honest nodes have for a lock usually differ.
const uneven = 100

// plausible removes the nodes whose numbers are ahead of the clocks, unless about as large a number is backed: a majority
// of these nodes has it or a larger one, so that no minority has invented it. The clocks were ahead and have been set back.
//
// Tokens still increase: nodes are only removed, and any majority of those that are left has a node that knows the last
// token. A minority cannot move a token far: below the limit of [Locker.Believes] it can by that much, and above it by
// uneven with each lease, which is less than the clocks run meanwhile.
func (l *Locker) plausible(voters []int, answers []answer) []int {
	ahead := func(i int) bool { return l.checkAhead(&answers[i]) != nil }
	if !slices.ContainsFunc(voters, ahead) {
		return voters // the usual case
	}
	var backed uint64
	if len(voters) >= l.need {
		numbers := make([]uint64, len(voters))
		for k, i := range voters {
			numbers[k] = answers[i].Value.number
		}
		slices.Sort(numbers)
		backed = numbers[len(numbers)-l.need]
	}
	return slices.DeleteFunc(voters, func(i int) bool { return ahead(i) && answers[i].Value.number > backed+uneven })
}

// checkAhead returns an error if the number of a vote is not plausible. Usually the node's own clock is past it, and
// the other clocks are not needed.
func (l *Locker) checkAhead(a *answer) error {
	if n := a.Value.number; int64(n) > a.Time && !l.Believes(n) {
		return numberError{recordError(fmt.Sprintf("the number %d is more than %v ahead of the clocks", n, l.mostAhead()))}
	}
	return nil
}

// Believes is for this library's own packages. It reports whether a lock can have this fencing number, by the clocks of
// a quorum. Numbers start from clocks and grow by one. If one node's larger number were accepted, it would raise the
// numbers of all nodes, and tokens would go back once a majority has dropped them and starts again from its clocks.
// Numbers within the limit are safe: by that time the clocks are past them. A vote with a larger number counts if a
// majority backs it.
func (l *Locker) Believes(number uint64) bool {
	now, ok := l.clocks.Median(l.clock.Now())
	return ok && number <= uint64(now+l.mostAhead().Microseconds())
}

// mostAhead returns how far a number may be ahead of the clocks. Numbers may come from a clock that is ahead. The guard
// of a node that has lost its numbers lasts longer than this limit.
func (l *Locker) mostAhead() time.Duration { return l.settings.MaxTTL/2 + l.settings.MaxClockSkew }

// twinOf returns a node before i whose yes came from the same server; -1 if there is none.
func (l *Locker) twinOf(i int, answers []answer) int {
	for j := range i {
		if a := &answers[j]; a.Err == nil && a.Value.yes && a.Identity != 0 && a.Identity == answers[i].Identity {
			return j
		}
	}
	return -1
}

// tally is the result of a vote.
type tally struct {
	yes    int    // votes that count
	number uint64 // the largest number among them
	uneven bool   // their numbers differ
}

func (l *Locker) count(answers []answer, timed bool) tally {
	var t tally
	var space [usualNodes]int
	for _, i := range l.voters(space[:0], answers, timed) {
		n := answers[i].Value.number
		t.uneven = t.uneven || t.yes > 0 && n != t.number
		t.yes++
		t.number = max(t.number, n)
	}
	return t
}

// report counts why there were too few votes.
type report struct {
	no        int // answered that the lock is not ours
	guarded   int // are guarded: may have lost a lease
	open      int // have not answered
	listed    int // are in use with a list of another length
	anonymous int // do not reveal their identity
	nodes     []NodeError
}

// failed makes the error for a vote without a quorum. Its kind is blocked if answers of no alone prevented the quorum,
// and otherwise depends on what did. cause is why the answers were not awaited, nil if they were.
func (l *Locker) failed(op, name string, answers []answer, timed bool, blocked, cause error) error {
	var space [usualNodes]int
	voters := l.voters(space[:0], answers, timed)
	var r report
	for i := range answers {
		if !slices.Contains(voters, i) {
			r.nodes = append(r.nodes, NodeError{l.quorum.Addr(i), r.add(l, i, answers)})
		}
	}
	kind := ErrNoQuorum
	// Nodes that have not answered may have been about to, unless they could have made a quorum: then they were waited
	// for, and count as unreachable.
	reachable := len(voters)
	if reachable+r.open < l.need {
		reachable += r.open
	}
	switch {
	case l.size-r.no < l.need:
		kind = blocked
	case l.size-r.listed < l.need, l.size-r.anonymous < l.need:
		kind = ErrConfig
	case r.guarded > 0 && reachable+r.guarded >= l.need:
		kind = ErrGuarded
	}
	err := &QuorumError{Op: op, Name: name, Size: l.size, Need: l.need, Got: len(voters), Nodes: r.nodes, kind: kind}
	if cause != nil {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// errSkewed returns the error of a node whose clock does not agree with the others'.
func (l *Locker) errSkewed(node int) error {
	offset, _ := l.clocks.Offset(node)
	return fmt.Errorf("its clock is %v off the others', %v is allowed", offset.Round(time.Millisecond),
		l.settings.MaxClockSkew)
}

// add returns why node i did not say yes, or why its yes does not count, and counts that.
func (r *report) add(l *Locker, i int, answers []answer) error {
	a := answers[i]
	switch {
	case a.Err == nil && a.Value.yes:
		if twin := l.twinOf(i, answers); twin >= 0 {
			return l.errTwin(twin)
		}
		if err := l.clocks.Distrust(i, a.Received); err != nil {
			return err
		}
		if err := l.checkAhead(&a); err != nil {
			return err
		}
		return l.errSkewed(i)
	case a.Err == nil:
		r.no++
		if a.Value.held {
			return heldError{a.Value.value, a.Value.left}
		}
		if a.Value.queued {
			return errQueued
		}
		return errNotLocked
	case errors.Is(a.Err, quorum.ErrNoAnswer):
		r.open++
	case errors.Is(a.Err, errNoIdentity):
		r.anonymous++
	}
	if _, ok := errors.AsType[guardedError](a.Err); ok {
		r.guarded++
	}
	if list, ok := errors.AsType[listError](a.Err); ok {
		r.listed++
		list.ours = int64(l.size)
		return list
	}
	return a.Err
}
