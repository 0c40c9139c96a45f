package redlock

import (
	"errors"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// hold is what a waiting process has learned from its last attempt: who holds the lock, for how long, and how many nodes
// say so.
type hold struct {
	holder value         // zero: not known
	left   time.Duration // longest time left of that hold; at most MaxTTL, whatever the nodes say
	votes  int           // nodes that name the holder
	place  int           // in line
	others time.Duration // free, but for so long only for those ahead in line; 0: not so
	listed bool          // by a node that keeps the line
	inVain bool          // a node granted the lock, and too few did
	named  []NodeError   // the nodes that name a holder
}

// learn reads the answers to a failed attempt, in which these nodes keep the line. The holder is whom most nodes name.
func (h *hold) learn(l *Locker, answers []answer, line []int) {
	*h = hold{listed: len(answers) > 0 && slices.ContainsFunc(line, func(i int) bool { return hasListed(answers[i]) })}
	var lasts []time.Duration
	for i, a := range answers {
		switch {
		case a.Err != nil || !a.Over:
		case a.Value.yes:
			h.inVain = true
		case a.Value.queued:
			if h.others == 0 || a.Value.left < h.others {
				h.others = max(a.Value.left, time.Millisecond)
			}
		case a.Value.held:
			h.named = append(h.named, NodeError{l.quorum.Addr(i), l.leases.heldError(a.Value)})
		}
	}
	named := mostNamed(answers)
	if h.votes = len(named); h.votes == 0 {
		return
	}
	h.holder = named[0].value
	for _, r := range named {
		h.place, lasts = max(h.place, int(min(r.number, mostInLine))), append(lasts, r.left)
	}
	slices.Sort(lasts)
	h.left = min(lasts[max(h.votes-l.need, 0)], l.settings.MaxTTL) // as in [Locker.Holder]
	if h.votes < l.need {
		h.left = min(h.left, l.settings.TTL) // possibly only one node says so: ask again soon
	}
}

// hasListed reports whether the node has refused the lock, and so has listed the process.
func hasListed(a answer) bool {
	_, guarded := errors.AsType[guardedError](a.Err)
	return a.Over && !a.Value.yes && (a.Err == nil || guarded)
}

// outcome returns the error to report for an attempt. An attempt that asked only the first nodes is not conclusive by
// itself: outcome then returns what is known, or nil if no holder is known.
func (h *hold) outcome(err error) error {
	q, ok := errors.AsType[*QuorumError](err)
	if !ok || !slices.ContainsFunc(q.Nodes, func(n NodeError) bool { return errors.Is(n.Err, quorum.ErrNotTried) }) {
		return err
	}
	if h.holder == (value{}) {
		return nil
	}
	return &QuorumError{Op: q.Op, Name: q.Name, Size: q.Size, Need: q.Need, Nodes: h.named, kind: ErrHeld}
}
