package redlock

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// question is how the nodes' answers to one question are read.
type question struct {
	read func(quorum.Answer) (reply, error)
	yes  func(quorum.Answer) bool // the same, for the one thing that decides a round

	// Whether a yes rests on the node's clock: that of a grant or an extension, since a clock that was
	// stepped forward has ended leases early.
	timed bool
}

var (
	granting  = question{parseReply, isYes, true}
	releasing = question{parseReply, isYes, false}
)

// extending is the question for the i-th of n names.
func extending(i, n int) question {
	return question{
		func(a quorum.Answer) (reply, error) { return parseExtension(a, i, n) },
		func(a quorum.Answer) bool { return isExtended(a, i, n) },
		true,
	}
}

// decided tells that the answers so far make a majority of yes, or that none can come any more.
func (l *Locker) decided(answers []quorum.Answer, q question) bool {
	open := 0
	for _, a := range answers {
		if !a.Over {
			open++
		}
	}
	var space [maxNodes]int
	votes := len(l.voters(space[:0], answers, q))
	return votes >= l.need || votes+open < l.need
}

// voters appends the nodes whose yes counts. Where it rests on their clocks, these have not jumped lately,
// and agree.
func (l *Locker) voters(voters []int, answers []quorum.Answer, q question) []int {
	for i, a := range answers {
		if a.Over && q.yes(a) && (!q.timed || l.clocks.Distrust(i, a.Received) == nil) {
			voters = append(voters, i)
		}
	}
	if q.timed && len(voters) >= l.need {
		return l.clocks.Agree(voters)
	}
	return voters // too few, whatever their clocks
}

// maxNodes is how many nodes are usual at most; more cost an allocation.
const maxNodes = 9

// tally is what the nodes said in one round.
type tally struct {
	yes     int
	no      int         // without a quorum of yes: answered, and it is not ours
	guarded int         // without a quorum of yes: may have forgotten a lease
	open    int         // without a quorum of yes: has not answered
	listed  int         // without a quorum of yes: in use with a list of another length
	number  uint64      // the largest of those whose yes counts
	uneven  bool        // they did not all say the same number
	nodes   []NodeError // without a quorum of yes: all others
}

func (l *Locker) count(answers []quorum.Answer, q question) tally {
	var t tally
	var space [maxNodes]int
	voters := l.voters(space[:0], answers, q)
	for _, i := range voters {
		r, _ := q.read(answers[i])
		t.uneven = t.uneven || (t.yes > 0 && r.number != t.number)
		t.yes++
		t.number = max(t.number, r.number)
	}
	if t.yes >= l.need {
		return t // nobody asks why the others did not say yes
	}
	for i, a := range answers {
		if !slices.Contains(voters, i) {
			t.nodes = append(t.nodes, NodeError{l.quorum.Addr(i), l.reason(&t, i, a, q)})
		}
	}
	return t
}

// reason is why node i did not say yes, or why that does not count.
func (l *Locker) reason(t *tally, i int, a quorum.Answer, q question) error {
	r, err := q.read(a)
	if err != nil {
		if _, ok := errors.AsType[guardedError](err); ok {
			t.guarded++
		}
		if list, ok := errors.AsType[listError](err); ok {
			t.listed++
			list.ours = int64(l.quorum.Size())
			err = list
		}
		if errors.Is(err, quorum.ErrNoAnswer) {
			t.open++
		}
		return err
	}
	if r.yes {
		if err := l.clocks.Distrust(i, a.Received); err != nil {
			return err
		}
		offset, _ := l.clocks.Offset(i, a.Received)
		return fmt.Errorf("its clock is %v off the others', %v is allowed", offset.Round(time.Millisecond),
			l.settings.MaxClockSkew)
	}
	t.no++
	if r.value == "" {
		return errGone
	}
	v, _ := parseValue(r.value) // q.read has checked it
	return heldError{v, r.ttl}
}

// reachable is how many nodes said yes, or may have been about to. Where they could have made a quorum
// they were waited for, and are out of reach.
func (t tally) reachable(need int) int {
	if t.yes+t.open < need {
		return t.yes + t.open
	}
	return t.yes
}

// failed makes the error of a tally without a quorum: blocked if others' answers alone prevented
// it, else what did. cause is why the answers were not awaited, if they were not.
func (l *Locker) failed(op, name string, t tally, blocked, cause error) error {
	kind := ErrNoQuorum
	switch size := l.quorum.Size(); {
	case size-t.no < l.need:
		kind = blocked
	case size-t.listed < l.need:
		kind = ErrConfig
	case t.guarded > 0 && t.reachable(l.need)+t.guarded >= l.need:
		kind = ErrGuarded
	}
	err := &QuorumError{Op: op, Name: name, Need: l.need, Got: t.yes, Nodes: t.nodes, kind: kind}
	if cause != nil {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
