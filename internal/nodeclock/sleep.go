package nodeclock

import (
	"slices"
	"time"
)

// maxInstant leaves instants and offsets room within a time.Duration, however often the nodes' clocks jump by a century.
const maxInstant = time.Duration(1 << 62)

// move is a move forward of a node's clock: it may be a sleep of the process. Its two ranges form a rectangle.
type move struct {
	node   int
	before known
	by     interval // duration of the sleep, by the process's clock as if it had run
	when   interval // instant of the process's clock
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
				moves = append(moves, move{i, before, by, interval{before.last, found}})
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
	// later converts an instant at which, or because of which, something was found.
	later := func(t, found time.Duration) time.Duration {
		if found < s.when.lo || t == 0 {
			return t
		}
		return t + by
	}
	for i := range c.nodes {
		n := &c.nodes[i]
		n.past = nil // timed by the old clock
		jumped := n.first
		switch k := slices.IndexFunc(s.moves, func(m move) bool { return m.node == i }); {
		case k >= 0:
			n.offset = n.offset.shift(-by)
			n.at, n.first, n.last = n.at+by, n.first+by, n.last+by
			n.jumps, jumped = s.moves[k].before.jumps, s.moves[k].before.first
		case n.at < s.when.lo:
			n.offset.lo -= by - s.by.lo
		default:
			n.offset.lo -= by
		}
		n.ahead, n.back, n.changed = later(n.ahead, jumped), later(n.back, n.back), later(n.changed, n.changed)
	}
	c.slack, c.settled = by, found+max(by, settling)
}
