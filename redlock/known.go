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
	until time.Time // when the hold is over, by the Locker's clock
}

// learn takes note of whom the nodes name as holder. One that a majority names holds the lock. One that is named by all who
// answered, if too few, may be what a failed attempt has left: it is asked for again soon. If they do not agree, nobody holds
// it.
//
// The hold of one that a majority has named is extended, as far as one node alone can tell: then it holds the lock for
// longer, but no longer than a lease whatever that node says. Not if the holder itself cannot confirm that: nodes that it
// reaches have its record for longer than a majority.
func (k *known) learn(l *Locker, answers []answer) {
	var last value
	now := l.clock.Now()
	maps.DeleteFunc(k.named, func(_ int, s statement) bool { return !now.Before(s.until) })
	free, queued, extended := false, false, k.sure && !k.doubtful
	one := true
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
			one = one && (last == value{} || last.contender == a.Value.value.contender)
			k.named[i] = statement{heldError{a.Value.value, a.Value.left}, now.Add(a.Value.left)}
			last, k.left = a.Value.value, a.Value.left
			extended = extended && !a.Value.shaky && last.contender == k.holder
		}
	}
	if one && last != (value{}) { // what was said of another one before is over
		maps.DeleteFunc(k.named, func(_ int, s statement) bool { return s.value.contender != last.contender })
	}
	k.doubtful, k.queued = free, queued && !free
	votes := 0
	for _, n := range k.named {
		if n.value.contender == last.contender {
			votes++
		}
	}
	k.holder, k.sure = "", votes >= l.need || extended && votes > 0
	if k.sure || votes > 0 && votes == len(k.named) && !free {
		k.holder = last.contender
	}
	if votes < l.need {
		k.left = min(k.left, l.settings.MaxTTL)
	}
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
