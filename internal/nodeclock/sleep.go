package nodeclock

import "time"

// sleep is a sleep of the process, or what one node shows of it. Its two ranges form a rectangle.
type sleep struct {
	by    interval // duration, by the process's clock as if it had run
	when  interval // instant of the process's clock
	parts []part
}

// part is a node's part in a sleep: its jump before.
type part struct {
	node   int
	before jump
}

// findSleepLocked returns a sleep that a quorum of nodes shows. If rectangles have a point in common, the largest of
// their lower ends is such a point.
func (c *Clocks) findSleepLocked() (sleep, bool) {
	moves := c.movesLocked()
	var found sleep
	for _, a := range moves {
		for _, b := range moves {
			s := common(moves, a.by.lo, b.when.lo)
			if len(s.parts) > len(found.parts) {
				found = s
			}
		}
	}
	return found, len(found.parts) >= c.config.Quorum
}

// movesLocked returns, for each forward move of a node's clock, the sleep that would explain it.
func (c *Clocks) movesLocked() []sleep {
	var moves []sleep
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
				moves = append(moves, sleep{
					by:    by,
					when:  interval{before.last, found},
					parts: []part{{node: i, before: before.jump}},
				})
			}
			found = before.first
		}
	}
	return moves
}

// common combines the moves, at most one per node, that allow a sleep of that duration at that instant.
func common(moves []sleep, by, when time.Duration) sleep {
	var all sleep
	for _, m := range moves {
		if !m.by.holds(by) || !m.when.holds(when) {
			continue
		}
		switch k := len(all.parts); {
		case k == 0:
			all = m
		case all.parts[k-1].node != m.parts[0].node:
			all.by, _ = all.by.share(m.by)
			all.when, _ = all.when.share(m.when)
			all.parts = append(all.parts, m.parts...)
		}
	}
	return all
}

// takeBackLocked converts everything to the process's new clock; see the package comment. found is by the old clock.
func (c *Clocks) takeBackLocked(s sleep, found time.Duration) {
	by := s.by.hi
	part := make(map[int]jump, len(s.parts))
	for _, p := range s.parts {
		part[p.node] = p.before
	}
	for i := range c.nodes {
		n := &c.nodes[i]
		n.past = nil // timed by the old clock
		before, moved := part[i]
		switch {
		case moved:
			n.offset = n.offset.shift(-by)
			n.at, n.first, n.last = n.at+by, n.first+by, n.last+by
			n.jump = before
		case n.at < s.when.lo:
			n.offset.lo -= by - s.by.lo
		default:
			n.offset.lo -= by
		}
		if n.found >= s.when.lo {
			n.found, n.ahead = n.found+by, n.ahead+by
			if n.back > 0 {
				n.back += by
			}
		}
	}
	c.slack, c.settled = by, found+max(by, settling)
}
