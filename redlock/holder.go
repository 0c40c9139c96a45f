package redlock

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/internal/quorum"
)

// Holder is who holds a lock.
type Holder struct {
	Value   string    // as set by WithValue
	Token   uint64    // of its lease; may be larger if a minority of nodes is unreachable
	Expires time.Time // when a majority no longer has it, unless it is extended
}

// Holder asks all nodes who holds the lock called name, without changing anything. The answer may be outdated when it
// returns. The error is [ErrVacant] if no majority names the same holder, or [ErrNoQuorum] if too few nodes answered.
func (l *Locker) Holder(ctx context.Context, lock string) (Holder, error) {
	if err := name.Check("lock name", lock); err != nil {
		return Holder{}, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	asked := time.Now()
	round, err := quorum.Ask(ctx, l.quorum, l.commands.holder.Call(constants{fieldOf(lock)}), l.jury.agreed)
	if err != nil {
		return Holder{}, fmt.Errorf("redlock: holder of %q: %w", lock, err)
	}
	answers := round.Answers()
	named := mostNamed(answers)
	if len(named) >= l.need {
		h := Holder{Value: named[0].value.text}
		left := make([]time.Duration, len(named))
		for i, r := range named {
			left[i] = r.left
		}
		h.Token, _ = tokenOf(named, l.need)
		slices.Sort(left)
		h.Expires = asked.Add(left[len(left)-l.need])
		return h, nil
	}
	if l.isClosed() {
		return Holder{}, fmt.Errorf("%w: holder of %q", ErrClosed, lock)
	}
	return Holder{}, l.jury.noHolder(lock, answers, len(named))
}

// noHolder returns the error if no majority names the same holder. most is how many nodes name the one named most
// often.
func (j *jury) noHolder(lock string, answers []answer, most int) error {
	e := &QuorumError{Op: "holder of", Name: lock, Size: j.size, Need: j.need, kind: ErrVacant}
	silent := 0
	for i, a := range answers {
		switch {
		case a.Err != nil:
			silent++
			e.Nodes = append(e.Nodes, NodeError{j.nodes.Addr(i), a.Err})
		case a.Value.held:
			e.Nodes = append(e.Nodes, NodeError{j.nodes.Addr(i), j.leases.heldError(a.Value)})
		default:
			e.Got++ // this node says that nobody holds it
		}
	}
	if e.Got < j.need && most+silent >= j.need {
		e.kind, e.Got = ErrNoQuorum, j.size-silent
	}
	return e
}

// agreed reports whether a majority names nobody, or names the same holder and token.
func (j *jury) agreed(answers []answer) bool {
	vacant := 0
	for _, a := range answers {
		if a.Over && a.Err == nil && !a.Value.held {
			vacant++
		}
	}
	_, sure := tokenOf(mostNamed(answers), j.need)
	return vacant >= j.need || sure
}

// tokenOf returns the token of the holder that these replies name: the number on which as many agree as needed. A node
// whose answer to the grant came too late to count may be ahead of it, and a node that missed the grant behind. If too
// few nodes answer to tell, tokenOf returns the largest number, and false.
func tokenOf(named []reply, need int) (token uint64, sure bool) {
	for _, r := range named {
		same := 0
		for _, other := range named {
			if other.number == r.number {
				same++
			}
		}
		if same >= need {
			return r.number, true
		}
		token = max(token, r.number)
	}
	return token, false
}

// mostNamed returns the replies of the nodes that name the most frequent holder.
func mostNamed(answers []answer) []reply {
	votes := make(map[value][]reply, 1)
	var most []reply
	for i, a := range answers {
		if !a.Over || a.Err != nil || !a.Value.held || twinOf(i, answers) >= 0 {
			continue
		}
		v := a.Value.value
		votes[v] = append(votes[v], a.Value)
		if len(votes[v]) > len(most) {
			most = votes[v]
		}
	}
	return most
}
