package nodeclock

import (
	"slices"
	"time"
)

// Bounds returns the earliest and latest possible TIME of the node at now, in microseconds since 1970, if its clock has
// not jumped since it was last seen. It returns false if the node was never seen.
func (c *Clocks) Bounds(node int, now time.Time) (earliest, latest int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &c.nodes[node]
	if !n.seen {
		return 0, 0, false
	}
	at := now.Sub(c.origin)
	offset := c.offsetAt(n.known, at)
	return (offset.lo + at).Microseconds(), (offset.hi + at).Microseconds(), true
}

// Offset returns how far the node's clock is ahead of the median of all nodes seen; 0 if the node was never seen.
func (c *Clocks) Offset(node int) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	median, _ := c.medianLocked()
	if n := &c.nodes[node]; n.seen {
		return n.offset.middle() - median
	}
	return 0
}

// Median returns the median of the clocks of all nodes seen, at now, in microseconds since 1970. It returns false if
// fewer than a quorum have been seen.
func (c *Clocks) Median(now time.Time) (micros int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	median, seen := c.medianLocked()
	if seen < c.config.Quorum {
		return 0, false
	}
	return (median + now.Sub(c.origin)).Microseconds(), true
}

// medianLocked returns the median offset, the middle of the two middle ones if their number is even, and the number of
// nodes seen.
func (c *Clocks) medianLocked() (offset time.Duration, seen int) {
	var offsets []time.Duration
	for i := range c.nodes {
		if c.nodes[i].seen {
			offsets = append(offsets, c.nodes[i].offset.middle())
		}
	}
	if len(offsets) == 0 {
		return 0, 0
	}
	slices.Sort(offsets)
	return interval{offsets[(len(offsets)-1)/2], offsets[len(offsets)/2]}.middle(), len(offsets)
}
