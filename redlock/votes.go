package redlock

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/guard"
	"github.com/redlockfx/redlockfx/internal/nodeclock"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

// jury decides what the nodes' answers mean together.
type jury struct {
	settings   *Settings
	nodes      *quorum.Quorum
	clocks     *nodeclock.Clocks
	clock      *clock.Clock
	leases     *leases // of the Locker itself
	size, need int     // number of nodes, and how many of them make a majority
}

// A vote is timed if it depends on the node's clock. Votes for a grant or an extension do, because a clock that was
// stepped forward has ended leases early.
const (
	timed   = true
	untimed = false
)

// isDecided reports whether the outcome is decided. Either a majority has said yes, or no majority can say yes any more
// and it is clear whether the answers of no alone prevent it.
func (j *jury) isDecided(answers []answer, timed bool) bool {
	open, no := 0, 0
	for i := range answers {
		switch a := &answers[i]; {
		case !a.Over:
			open++
		case a.Err == nil && !a.Value.yes:
			no++
		}
	}
	var space [quorum.UsualNodes]int
	votes := len(j.voters(space[:0], answers, timed))
	blocking := j.size - j.need + 1
	return votes >= j.need || j.nodes.Decided(votes, open) && (no >= blocking || no+open < blocking)
}

// granted reports whether the outcome of an attempt is decided.
func (j *jury) granted(answers []answer) bool { return j.isDecided(answers, timed) }

// agreedUntimed is granted for requests whose votes are not timed.
func (j *jury) agreedUntimed(answers []answer) bool { return j.isDecided(answers, untimed) }

// voters appends the nodes whose yes counts. Of several nodes that are the same server, only one counts. For timed
// votes, a node counts only if its clock has not jumped lately and agrees with the others, and its number is plausible.
func (j *jury) voters(voters []int, answers []answer, timed bool) []int {
	for i := range answers {
		a := &answers[i]
		if !a.Over || a.Err != nil || !a.Value.yes || twinOf(i, answers) >= 0 {
			continue
		}
		if !timed || j.distrust(i, a) == nil {
			voters = append(voters, i)
		}
	}
	if timed {
		voters = j.plausible(voters, answers)
	}
	if j.settings.RestartGuard {
		voters = quorum.OfOneList(voters, answers)
	}
	if timed && len(voters) >= j.need {
		return j.clocks.Agree(voters)
	}
	return voters // untimed, or too few whatever their clocks
}

// distrust returns why a timed yes does not count: the node's clock has jumped.
func (j *jury) distrust(node int, a *answer) error {
	placed := a.Value.placed
	if placed.IsZero() {
		placed = a.Received
	}
	return j.clocks.Distrust(node, a.Received, placed)
}

// uneven is by how much the numbers that honest nodes have for a lock usually differ.
const uneven = 100

// plausible removes the nodes whose numbers are ahead of the clocks, unless about as large a number is backed: a majority
// of these nodes has it or a larger one, so that no minority has invented it. The clocks were ahead and have been set back.
//
// Tokens still increase: nodes are only removed, and any majority of those that are left has a node that knows the last
// token. A minority cannot move a token far: below the limit of believes it can by that much, and above it by
// uneven with each lease of any lock, which is less than the clocks run meanwhile.
func (j *jury) plausible(voters []int, answers []answer) []int {
	ahead := func(i int) bool { return j.checkAhead(&answers[i]) != nil }
	if !slices.ContainsFunc(voters, ahead) {
		return voters // the usual case
	}
	var backed uint64
	if len(voters) >= j.need {
		numbers := make([]uint64, len(voters))
		for k, i := range voters {
			numbers[k] = answers[i].Value.number
		}
		slices.Sort(numbers)
		backed = numbers[len(numbers)-j.need]
	}
	return slices.DeleteFunc(voters, func(i int) bool { return ahead(i) && answers[i].Value.number > backed+uneven })
}

// checkAhead returns an error if the number of a vote is not plausible. Usually the node's own clock is past it, and
// the other clocks are not needed.
func (j *jury) checkAhead(a *answer) error {
	if n := a.Value.number; int64(n) > a.Time && !j.believes(n) {
		return numberError{recordError(fmt.Sprintf("the number %d is more than %v ahead of the clocks", n, j.mostAhead()))}
	}
	return nil
}

// believes reports whether a lock can have this fencing number, by the clocks of a quorum. Numbers start from clocks and
// grow by one. If one node's larger number were accepted, it would raise the numbers of all nodes, and tokens would go
// back once a majority has dropped them and starts again from its clocks. Numbers within the limit are safe: by that time
// the clocks are past them. A vote with a larger number counts if a majority backs it, as the only node does.
func (j *jury) believes(number uint64) bool { return j.size == 1 || j.isNear(number) }

// isNear reports whether a number is behind the clocks of a quorum, or hardly ahead of them.
func (j *jury) isNear(number uint64) bool {
	now, ok := j.clocks.Median(j.clock.Now())
	return ok && number <= uint64(now+j.mostAhead().Microseconds())
}

// mostAhead returns how far a number may be ahead of the clocks. Numbers may come from a clock that is ahead. The guard
// of a node that has lost its numbers lasts longer than this limit.
func (j *jury) mostAhead() time.Duration { return j.settings.MaxTTL/2 + j.settings.MaxClockSkew }

// twinOf returns a node before i that has answered for the same server; -1 if there is none.
func twinOf[T any](i int, answers []quorum.Answer[T]) int {
	for other := range i {
		if a := &answers[other]; a.Over && a.Err == nil && a.Identity != 0 && a.Identity == answers[i].Identity {
			return other
		}
	}
	return -1
}

// tally is the result of a vote.
type tally struct {
	yes    int    // votes that count
	number uint64 // the largest number among them
	uneven bool   // their numbers differ, or are ahead of clocks that were set back: a majority must learn the token
}

func (j *jury) count(answers []answer, timed bool) tally {
	var t tally
	var space [quorum.UsualNodes]int
	for _, i := range j.voters(space[:0], answers, timed) {
		n := answers[i].Value.number
		t.uneven = t.uneven || t.yes > 0 && n != t.number || int64(n) > answers[i].Time && !j.isNear(n)
		t.yes++
		t.number = max(t.number, n)
	}
	return t
}

// report counts why there were too few votes.
type report struct {
	no        int    // answered that the lock is not ours
	guarded   int    // are guarded: may have lost a lease
	open      int    // have not answered
	listed    int    // serve another list
	anonymous int    // do not reveal their identity
	label     string // of the voters' list
	nodes     []NodeError
}

// failed makes the error for a vote without a quorum. Its kind is blocked if answers of no alone prevented the quorum,
// and otherwise depends on what did. cause is why the answers were not awaited, nil if they were.
func (j *jury) failed(op, name string, answers []answer, timed bool, blocked, cause error) error {
	var space [quorum.UsualNodes]int
	voters := j.voters(space[:0], answers, timed)
	var r report
	if len(voters) > 0 {
		r.label = answers[voters[0]].Label
	}
	for i := range answers {
		if !slices.Contains(voters, i) {
			r.nodes = append(r.nodes, NodeError{j.nodes.Addr(i), r.add(j, i, answers)})
		}
	}
	kind := ErrNoQuorum
	// Nodes that have not answered may have been about to, unless they could have made a quorum: then they were waited
	// for, and count as unreachable.
	reachable := len(voters)
	if reachable+r.open < j.need {
		reachable += r.open
	}
	switch {
	case j.size-r.no < j.need:
		kind = blocked
	case j.size-r.anonymous < j.need:
		kind = ErrConfig
	case j.size-r.listed < j.need:
		kind = ErrGuarded
	case r.guarded > 0 && reachable+r.guarded >= j.need:
		kind = ErrGuarded
	}
	err := &QuorumError{Op: op, Name: name, Size: j.size, Need: j.need, Got: len(voters), Nodes: r.nodes, kind: kind}
	if cause != nil {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// errSkewed returns the error of a node whose clock does not agree with the others'.
func (j *jury) errSkewed(node int) error {
	return nodeclock.Untrusted(fmt.Sprintf("its clock is %v off the others', %v is allowed",
		j.clocks.Offset(node).Round(time.Millisecond), j.settings.MaxClockSkew))
}

func (j *jury) errTwin(of int) error {
	return fmt.Errorf("%w: it is the same server as %s", errUnfit, j.nodes.Addr(of))
}

// add returns why node i did not say yes, or why its yes does not count, and counts that.
func (r *report) add(j *jury, i int, answers []answer) error {
	a := answers[i]
	switch {
	case a.Err == nil && a.Value.yes:
		if twin := twinOf(i, answers); twin >= 0 {
			return j.errTwin(twin)
		}
		if err := j.distrust(i, &a); err != nil {
			return err
		}
		if err := j.checkAhead(&a); err != nil {
			return err
		}
		if r.label != "" && a.Label != r.label && j.settings.RestartGuard {
			return quorum.ErrOtherList
		}
		return j.errSkewed(i)
	case a.Err == nil:
		r.no++
		if a.Value.held {
			return j.leases.heldError(a.Value)
		}
		if a.Value.queued {
			return errQueued
		}
		return errNotLocked
	case errors.Is(a.Err, quorum.ErrNoAnswer):
		r.open++
	case errors.Is(a.Err, guard.ErrNoIdentity):
		r.anonymous++
	}
	if _, ok := errors.AsType[guardedError](a.Err); ok {
		r.guarded++
	}
	if isListed(a.Err) {
		r.listed++
	}
	return a.Err
}
