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
	Value   string    // as given by WithValue
	Token   uint64    // that of its lease; where nodes of a minority are away, it may be a larger one
	Expires time.Time // when, without extension, a majority no longer has it
}

// Holder reads who holds the lock called name, from all nodes, without changing anything. By the
// time it returns this may have changed. [ErrVacant]: no majority names the same holder.
// [ErrNoQuorum]: too few nodes answered to tell.
func (l *Locker) Holder(ctx context.Context, lock string) (Holder, error) {
	if err := name.Check("lock name", lock); err != nil {
		return Holder{}, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	call := holderScript.Call([]string{l.lockKey(lock), l.fenceKey(lock)})
	asked := time.Now()
	round, err := l.quorum.Ask(ctx, call, l.agreed)
	if err != nil {
		return Holder{}, fmt.Errorf("redlock: holder of %q: %w", lock, err)
	}
	answers := round.Answers()
	named := mostNamed(answers)
	if len(named) >= l.need {
		v, _ := parseValue(named[0].value) // parseReply has checked it
		h := Holder{Value: v.text}
		ttls := make([]time.Duration, len(named))
		for i, r := range named {
			ttls[i] = r.ttl
		}
		h.Token, _ = l.tokenOf(named)
		slices.Sort(ttls)
		h.Expires = asked.Add(ttls[len(ttls)-l.need])
		return h, nil
	}
	if l.isClosed() {
		return Holder{}, fmt.Errorf("%w: holder of %q", ErrClosed, lock)
	}

	t := l.count(answers, releasing)
	failed := &QuorumError{
		Op: "holder of", Name: lock, Need: l.need, Got: t.yes, Nodes: t.nodes, kind: ErrVacant,
	}
	if silent := len(answers) - t.yes - t.no; t.yes < l.need && len(named)+silent >= l.need {
		failed.kind = ErrNoQuorum
		failed.Got = t.yes + t.no
	}
	return Holder{}, failed
}

// agreed tells that a majority names nobody, or one holder and token; until all have answered.
func (l *Locker) agreed(answers []quorum.Answer) bool {
	vacant := 0
	for _, a := range answers {
		if isYes(a) {
			vacant++
		}
	}
	_, sure := l.tokenOf(mostNamed(answers))
	return vacant >= l.need || sure
}

// tokenOf returns the token of whom these replies name: the number that a majority has counted. A node
// whose answer to the grant came too late to count may be ahead of it, and one that missed it behind.
// Where too few answer to tell, it is the largest, and not sure.
func (l *Locker) tokenOf(named []reply) (token uint64, sure bool) {
	for _, r := range named {
		same := 0
		for _, other := range named {
			if other.number == r.number {
				same++
			}
		}
		if same >= l.need {
			return r.number, true
		}
		token = max(token, r.number)
	}
	return token, false
}

// mostNamed returns the replies that name the holder whom most name.
func mostNamed(answers []quorum.Answer) []reply {
	votes := make(map[string][]reply, 1)
	var most []reply
	for _, a := range answers {
		r, err := parseReply(a)
		if err != nil || r.yes {
			continue
		}
		votes[r.value] = append(votes[r.value], r)
		if len(votes[r.value]) > len(most) {
			most = votes[r.value]
		}
	}
	return most
}
