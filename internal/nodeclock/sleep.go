package nodeclock

import (
	"slices"
	"time"
)

// move is a move forward of a node's clock: it may be a sleep of the process. Its two ranges form a rectangle.
type move struct {
	node   int
	before jumps
	by     interval // duration of the sleep, by the process's clock as if it had run
	when   interval // instant of the sleep
}

// sleep is what the moves of several nodes have in common.
type sleep struct {
	by, when interval
	moves    []move // at most one per node
}

// findSleepLocked returns a sleep that a quorum of nodes shows. If rectangles have a point in common, the largest of
// their lower ends is such a point.
func (c *Clocks) findSleepLocked(now time.Duration) (sleep, bool) {
	moves := c.movesLocked()
	var found sleep
	for _, a := range moves {
		for _, b := range moves {
			if s := common(moves, a.by.lo, b.when.lo); len(s.moves) > len(found.moves) {
				found = s
			}
		}
	}
	return found, len(found.moves) >= c.config.Quorum && found.by.hi < maxInstant-now
}

// movesLocked returns the moves forward of the nodes' clocks.
func (c *Clocks) movesLocked() []move {
	var moves []move
	for i := range c.nodes {
		n := &c.nodes[i]
		found := n.first
		for _, before := range n.past {
			old := c.offsetAt(before, n.at)
			by := interval{
				lo: time.Duration(float64(n.offset.lo-old.hi) / (1 + c.config.Drift)),
				hi: time.Duration(float64(n.offset.hi-old.lo) / (1 - c.config.Drift)),
			}
			if by.lo > 0 {
				moves = append(moves, move{i, before.jumps, by, interval{before.last, found}})
			}
			found = before.first
		}
	}
	return moves
}

// common returns the sleep that the moves show together which allow that duration and that instant.
func common(moves []move, by, when time.Duration) sleep {
	var s sleep
	for _, m := range moves {
		n := len(s.moves)
		if !m.by.holds(by) || !m.when.holds(when) || n > 0 && s.moves[n-1].node == m.node {
			continue
		}
		if n == 0 {
			s.by, s.when = m.by, m.when
		}
		s.by, _ = s.by.share(m.by)
		s.when, _ = s.when.share(m.when)
		s.moves = append(s.moves, m)
	}
	return s
}

// takeBackLocked converts everything to the process's new clock; see the package comment. found is by the old clock.
func (c *Clocks) takeBackLocked(s sleep, found time.Duration) {
	by := s.by.hi
	for i := range c.nodes {
		n := &c.nodes[i]
		n.past = nil // timed by the old clock
		switch k := slices.IndexFunc(s.moves, func(m move) bool { return m.node == i }); {
		case k >= 0:
			n.offset = interval{n.offset.lo - by, n.offset.hi - by}
			n.at, n.first, n.last = n.at+by, n.first+by, n.last+by
			n.jumps = s.moves[k].before
		case n.at < s.when.lo:
			n.offset.lo -= by - s.by.lo
		default:
			n.offset.lo -= by
		}
		// Jumps from before the sleep matter no shorter because of it.
		n.ahead, n.back, n.changed = n.ahead+by, n.back+by, n.changed+by
	}
	c.slack, c.settled = by, found+max(by, settling)
}
