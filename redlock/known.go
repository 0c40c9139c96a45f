package redlock

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// known is what a contender has learned about the lock's holder since the last release.
type known struct {
	named    map[int]statement // the holder that each node named last
	holder   string            // the known holder; empty: none
	left     time.Duration     // longest time left of that hold
	sure     bool              // a majority has named the holder, or had and one node has since confirmed an extension
	doubtful bool              // another node is free: the holder may be releasing the lock right now
	queued   bool              // the nodes asked are free, but others are ahead in the queue
	ahead    int               // length of that queue, without the process that was notified
}

// maxAhead is the longest queue that is believed.
const maxAhead = 1000

// statement is what a node said about the holder.
type statement struct {
	heldError
	until time.Time // when the hold ends, by the Locker's clock; at most MaxTTL after the statement
}

// learn records whom the nodes name as holder. A holder that a majority names holds the lock. If too few nodes answered
// and all of them name one holder, that may be the leftover of a failed attempt, so it is checked again soon. If they
// disagree, nobody holds the lock.
//
// A hold counts until a majority no longer has it: at most for MaxTTL, whatever the nodes say, and at most for TTL if
// fewer than a majority name the holder. Then the nodes are asked again. A single node that still names the holder
// shows that the holder has extended its lease. An unconfirmed extension shows nothing: nodes that the holder still
// reaches keep its record longer than a majority does.
func (k *known) learn(l *Locker, answers []answer) {
	now := l.clock.Now()
	maps.DeleteFunc(k.named, func(_ int, s statement) bool { return !now.Before(s.until) })
	free, queued, extended := false, false, k.sure && !k.doubtful
	var said []int // nodes that name a holder in these answers
	for i, a := range answers {
		switch {
		case errors.Is(a.Err, quorum.ErrNotTried):
		case a.Err != nil || !a.Over:
			extended = false
		case a.Value.queued:
			extended, queued, k.ahead = false, true, int(min(a.Value.number, maxAhead))
		case !a.Value.held:
			free, extended = true, false
		default:
			if k.named == nil {
				k.named = make(map[int]statement)
			}
			// A longer lease of another client is checked again.
			k.named[i] = statement{heldError{a.Value.value, a.Value.left}, now.Add(min(a.Value.left, l.settings.MaxTTL))}
			said = append(said, i)
			extended = extended && !a.Value.unconfirmed && a.Value.value.contender == k.holder
		}
	}
	holder, until := k.mostNamed(said)
	if len(said) > 0 && !slices.ContainsFunc(said, func(i int) bool { return k.named[i].value.contender != holder }) {
		// Earlier statements about other holders are outdated.
		maps.DeleteFunc(k.named, func(_ int, s statement) bool { return s.value.contender != holder })
	}
	k.doubtful, k.queued = free, queued && !free
	votes := len(until)
	k.holder, k.sure = "", votes >= l.need || extended && votes > 0
	if k.sure || votes > 0 && votes == len(k.named) && !free {
		k.holder = holder
	}
	if votes > 0 {
		k.left = until[max(votes-l.need, 0)].Sub(now) // as in [Locker.Holder]
		if votes < l.need {
			// Possibly only one node says so: ask another one soon.
			k.left = min(k.left, l.settings.TTL)
		}
	}
}

// mostNamed returns the most frequent holder among those that these nodes name, and when each node's statement about it
// ends, the earliest first.
func (k *known) mostNamed(said []int) (holder string, until []time.Time) {
	for _, i := range said {
		who := k.named[i].value.contender
		var theirs []time.Time
		for _, s := range k.named {
			if s.value.contender == who {
				theirs = append(theirs, s.until)
			}
		}
		if len(theirs) > len(until) {
			holder, until = who, theirs
		}
	}
	slices.SortFunc(until, time.Time.Compare)
	return holder, until
}

// forget drops the statements of the nodes when the hold is known to be over.
func (k *known) forget() {
	k.holder, k.sure, k.doubtful, k.queued = "", false, false, false
	clear(k.named)
}

// outcome returns the error to report for an attempt. An attempt that asked only the first nodes is not conclusive by
// itself: outcome then returns what is known, or nil if no holder is known.
func (k *known) outcome(l *Locker, err error) error {
	q, ok := errors.AsType[*QuorumError](err)
	if !ok || !slices.ContainsFunc(q.Nodes, func(n NodeError) bool { return errors.Is(n.Err, quorum.ErrNotTried) }) {
		return err
	}
	if k.holder == "" {
		return nil
	}
	held := &QuorumError{Op: q.Op, Name: q.Name, Size: q.Size, Need: q.Need, kind: ErrHeld}
	for _, i := range slices.Sorted(maps.Keys(k.named)) {
		held.Nodes = append(held.Nodes, NodeError{l.quorum.Addr(i), k.named[i].heldError})
	}
	return held
}
