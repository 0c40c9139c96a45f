package nodeclock

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

const (
	// granularity is how far apart two sightings of a steady clock may seem.
	granularity = 2 * time.Millisecond
	// maxMicros is later than any clock shows, in the year 2112.
	maxMicros = 1 << 52
	// never is before any instant of interest, by far.
	never = -time.Duration(1 << 62)
)

// Config describes the nodes and the limits for their clocks.
type Config struct {
	Nodes, Quorum int           // Quorum: a majority of Nodes
	Drift         float64       // share by which the rates of two clocks that do not jump may differ
	Spare         float64       // share of its duration by which a lease ends early for jumps that are seen
	MaxSkew       time.Duration // by how much two clocks that agree may differ
	// Quarantine is how long a node does not vote after a jump at most: the longest lease that it may have ended early. It
	// is called with a lock held.
	Quarantine func() time.Duration
}

// Clocks is what one process knows about the nodes' clocks. Nodes are identified by index. All instants given to it
// must come from one clock that never goes back. It is safe for concurrent use.
type Clocks struct {
	config Config

	mu     sync.Mutex // guards the fields below
	origin time.Time  // when the first request was sent; instants below are counted from it
	nodes  []node
}

// node is what is known about one node.
type node struct {
	seen    bool
	server  uint64        // that last said who it is; 0: none did
	changed time.Duration // when another server came last, or may have come
	known
}

// known is what the sightings between two jumps of a clock have in common.
type known struct {
	offset interval // the node's clock, since 1970, minus the process's, since origin
	at     time.Duration
	jumps
}

// jumps is what is known about the jumps of a clock.
type jumps struct {
	by    time.Duration // the latest; 0: there was none
	since time.Duration // when the first of those forward was found that matter
	ahead time.Duration // until when leases last that they end early
	back  time.Duration // when the latest one back was found
}

// New returns a Clocks that has not seen any node.
func New(c Config) *Clocks {
	unseen := node{changed: never, known: known{jumps: jumps{ahead: never, back: never}}}
	return &Clocks{config: c, nodes: slices.Repeat([]node{unseen}, c.Nodes)}
}

// Note records a node's reply: its TIME in microseconds since 1970, when the request was sent, and when the reply was
// received. The server says who it is, or 0. Note returns by how much the node's clock has jumped, which is usually 0;
// [Clocks.Distrust] returns the consequences. A node has one request at a time, so its replies are noted in order.
func (c *Clocks) Note(node int, sent, received time.Time, micros int64, server uint64) (jumped time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.origin.IsZero() {
		c.origin = sent
	}
	from, to := sent.Sub(c.origin), received.Sub(c.origin)
	clock := time.Duration(min(max(micros, 0), maxMicros)) * time.Microsecond
	sighting := known{offset: interval{clock - to, clock - from}.widen(granularity/2 + c.drift(to-from)), at: to}

	n := &c.nodes[node]
	sighting.jumps = n.jumps
	if !n.seen {
		n.seen, n.server, n.known = true, server, sighting
		return 0
	}
	if n.server == 0 || server != 0 && server != n.server {
		n.server, n.changed = server, to
	}
	if both, ok := c.agree(n.known, sighting); ok {
		n.known = both
		return 0
	}
	sighting.jumps = c.jumpsAfter(n.known, sighting)
	n.known = sighting
	return sighting.by
}

// jumpsAfter returns the jumps up to the one that a sighting shows.
func (c *Clocks) jumpsAfter(before, now known) jumps {
	j := before.jumps
	if j.by = now.offset.middle() - before.offset.middle(); j.by < 0 {
		j.back = now.at
		return j
	}
	if j.ahead <= now.at {
		j.since = now.at
	}
	most := now.offset.hi - c.offsetAt(before, now.at).lo
	longest := c.config.Quarantine()
	harm := time.Duration(min(float64(most)/c.config.Spare, float64(longest)))
	j.ahead = min(max(j.ahead, now.at)+harm, now.at+longest)
	return j
}

// drift returns by how much two clocks may drift apart in d.
func (c *Clocks) drift(d time.Duration) time.Duration {
	return time.Duration(math.Ceil(math.Abs(float64(d)) * c.config.Drift))
}

// offsetAt returns the interval of the offset at another instant, if the clock does not jump.
func (c *Clocks) offsetAt(k known, at time.Duration) interval {
	return k.offset.widen(c.drift(at - k.at))
}

// agree returns what two sightings of one clock have in common.
func (c *Clocks) agree(a, b known) (both known, ok bool) {
	a.offset, b.offset = c.offsetAt(a, max(a.at, b.at)), c.offsetAt(b, max(a.at, b.at))
	a.at = max(a.at, b.at)
	a.offset, ok = a.offset.share(b.offset)
	return a, ok
}

// interval is the range of a value, both ends included.
type interval struct{ lo, hi time.Duration }

func (i interval) widen(by time.Duration) interval { return interval{i.lo - by, i.hi + by} }

func (i interval) holds(d time.Duration) bool { return i.lo <= d && d <= i.hi }

// share returns the intersection, or false if it is empty.
func (i interval) share(j interval) (interval, bool) {
	both := interval{max(i.lo, j.lo), min(i.hi, j.hi)}
	return both, both.lo <= both.hi
}

func (i interval) middle() time.Duration { return i.lo + (i.hi-i.lo)/2 }

// Untrusted says why a node's vote does not count: its clock cannot be trusted.
type Untrusted string

func (e Untrusted) Error() string { return string(e) }

// Distrust returns nil if the node's votes count. Otherwise it returns why not: its clock has jumped, and somebody may
// still have a lease that this ends early or brings back. With fewer than three nodes a jump is ignored, because none
// can be spared. A jump forward does not matter to a record that has been on the node since placed, before that jump was
// found: as it is there, the node has voted for nobody else.
func (c *Clocks) Distrust(node int, now, placed time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &c.nodes[node]
	until := min(n.back, n.changed) + c.config.Quarantine()
	if !placed.Before(c.origin.Add(n.since)) {
		until = max(until, n.ahead)
	}
	left := c.origin.Add(until).Sub(now)
	if c.config.Nodes < 3 || left <= 0 {
		return nil
	}
	return Untrusted(fmt.Sprintf("its clock jumped by %v: it does not vote for another %v",
		n.by.Round(time.Millisecond), (left + time.Millisecond - 1).Truncate(time.Millisecond)))
}

// Agree returns the largest set of these nodes whose clocks agree pairwise: as far as known, they may be within
// Config.MaxSkew of each other. Nodes are in ascending order; among several sets of equal size, Agree returns the first
// in that order. A node never seen is in no set. With fewer than three nodes, all agree.
func (c *Clocks) Agree(nodes []int) []int {
	if c.config.Nodes < 3 {
		return nodes
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var at time.Duration
	for _, i := range nodes {
		at = max(at, c.nodes[i].at)
	}
	// If intervals are pairwise within MaxSkew of each other, all of them are within it of the highest lower end.
	var best []int
	for _, i := range nodes {
		end, near := c.offsetAt(c.nodes[i].known, at).lo, nodes
		far := func(j int) bool {
			offset := c.offsetAt(c.nodes[j].known, at)
			offset.hi += c.config.MaxSkew
			return !c.nodes[j].seen || !offset.holds(end)
		}
		if slices.ContainsFunc(nodes, far) { // it is not usual, so it may allocate
			near = slices.DeleteFunc(slices.Clone(nodes), far)
		}
		if len(near) > len(best) || len(near) == len(best) && slices.Compare(near, best) < 0 {
			best = near
		}
	}
	return best
}

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
