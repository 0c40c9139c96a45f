package nodeclock

import (
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
	before known // its latest jump, if there was one
}

// known is what the sightings between two jumps of a clock have in common.
type known struct {
	offset interval // the node's clock, since 1970, minus the process's, since origin
	at     time.Duration
	first  time.Duration // when the first of the replies was received
	last   time.Duration // when the last of the requests was sent
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
// [Clocks.Distrust] returns the consequences.
func (c *Clocks) Note(node int, sent, received time.Time, micros int64, server uint64) (jumped time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.origin.IsZero() {
		c.origin = sent
	}
	from, to := sent.Sub(c.origin), received.Sub(c.origin)
	clock := time.Duration(min(max(micros, 0), maxMicros)) * time.Microsecond
	sighting := known{
		offset: interval{clock - to, clock - from}.widen(granularity/2 + c.drift(to-from)),
		at:     to,
		first:  to,
		last:   from,
	}

	n := &c.nodes[node]
	sighting.jumps = n.jumps
	if !n.seen {
		n.seen, n.server, n.known = true, server, sighting
		return 0
	}
	if n.server == 0 || server != 0 && server != n.server {
		n.server, n.changed = server, to
	}
	if c.isLate(n, sighting) {
		return 0
	}
	if both, ok := c.agree(n.known, sighting); ok {
		n.known = both
		return 0
	}
	sighting.jumps = c.jumpsAfter(n.known, sighting)
	n.before, n.known = n.known, sighting
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
	a.at, a.last = max(a.at, b.at), max(a.last, b.last)
	a.offset, ok = a.offset.share(b.offset)
	return a, ok
}

// isLate reports whether a sighting shows the node as it was before its latest jump, and may be that old.
func (c *Clocks) isLate(n *node, sighting known) bool {
	if n.by == 0 || sighting.last > n.first {
		return false
	}
	_, ok := c.agree(n.before, sighting)
	return ok
}
