package redlock

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// known is what a contender knows of the lock's holder, from what the nodes have said since the last release.
type known struct {
	named    map[int]statement // whom each node named last
	holder   string            // who holds the lock, as far as is known
	left     time.Duration     // of that hold, at most
	sure     bool              // a majority has named the holder, or did, and then one node that it extends the hold
	doubtful bool              // another node is free: the holder may be releasing it just now
	queued   bool              // nobody holds it where it was asked for, and others are to have it first
	ahead    int               // how many others, besides the one who is on its way
}

// maxAhead is of how many waiting ones a node is believed.
const maxAhead = 1000

// statement is what a node said of the holder.
type statement struct {
	heldError
	until time.Time // when the hold is over, by the Locker's clock, at most the longest lease from when it was said
}

// learn takes note of whom the nodes name as holder. One that a majority names holds the lock. One that is named by all who
// answered, if too few, may be what a failed attempt has left: it is asked for again soon. If they do not agree, nobody holds
// it.
//
// A hold lasts until a majority no longer has it, but no longer than the longest lease, whatever the nodes say, and than the usual
// one where fewer than a majority say so: then the nodes are asked again. One node alone that still names the holder shows that it has extended the hold, unless the holder itself could not
// confirm that: nodes that it reaches have its record for longer than a majority.
func (k *known) learn(l *Locker, answers []answer) {
	now := l.clock.Now()
	maps.DeleteFunc(k.named, func(_ int, s statement) bool { return !now.Before(s.until) })
	free, queued, extended := false, false, k.sure && !k.doubtful
	var said []int // the nodes that name a holder now
	for i, a := range answers {
		switch {
		case errors.Is(a.Err, quorum.ErrUnsent):
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
			// A longer lease, of another client, is asked for again.
			k.named[i] = statement{heldError{a.Value.value, a.Value.left}, now.Add(min(a.Value.left, l.settings.MaxTTL))}
			said = append(said, i)
			extended = extended && !a.Value.shaky && a.Value.value.contender == k.holder
		}
	}
	holder, until := k.mostNamed(said)
	if len(said) > 0 && !slices.ContainsFunc(said, func(i int) bool { return k.named[i].value.contender != holder }) {
		// What was said of another one before is over.
		maps.DeleteFunc(k.named, func(_ int, s statement) bool { return s.value.contender != holder })
	}
	k.doubtful, k.queued = free, queued && !free
	votes := len(until)
	k.holder, k.sure = "", votes >= l.need || extended && votes > 0
	if k.sure || votes > 0 && votes == len(k.named) && !free {
		k.holder = holder
	}
	if votes > 0 {
		k.left = until[max(votes-l.need, 0)].Sub(now) // as of [Locker.Holder]
		if votes < l.need {
			// It may be one node's word alone: another one is asked before long.
			k.left = min(k.left, l.settings.TTL)
		}
	}
}

// mostNamed returns, of the holders that these nodes name, the one whom most nodes name, and when each of these says that the
// hold is over, the earliest first.
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

// forget drops what the nodes said, when it is known to be over.
func (k *known) forget() {
	k.holder, k.sure, k.doubtful, k.queued = "", false, false, false
	clear(k.named)
}

// outcome is what to say of an attempt. One that ended at the first nodes adds to what is known, and says nothing by
// itself: then it is nil.
func (k *known) outcome(l *Locker, err error) error {
	q, ok := errors.AsType[*QuorumError](err)
	if !ok || !slices.ContainsFunc(q.Nodes, func(n NodeError) bool { return errors.Is(n.Err, quorum.ErrUnsent) }) {
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
