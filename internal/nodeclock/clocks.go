package nodeclock

import (
	"math"
	"sync"
	"time"
)

const (
	// granularity is how far apart two sightings of a steady clock may seem.
	granularity = 2 * time.Millisecond
	// settling is the least time after a sleep was found for which the caller's clock may still lack it.
	settling = 100 * time.Millisecond
	// maxMicros is later than any clock shows, in the year 2112.
	maxMicros = 1 << 52
	// maxPast is two, so that a move seen in two parts is also recognized as one.
	maxPast = 2
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
// must come from one clock that never goes back. The caller must add each sleep that [Clocks.Note] reports to that
// clock within as much time again, or within 100 ms if that is more. It is safe for concurrent use.
type Clocks struct {
	config Config

	mu      sync.Mutex // guards the fields below
	origin  time.Time  // when the first request was sent; instants below are counted from it
	nodes   []node
	slack   time.Duration // how much sleep instants before settled may lack
	settled time.Duration
}

// node is what is known about one node.
type node struct {
	seen    bool
	server  uint64        // that last said who it is; 0: none did
	changed time.Duration // when another server came last, or may have come; 0: none did
	known
	past []known // known before its latest jumps, latest first, at most maxPast
}

// known is what the sightings between two jumps of a clock have in common.
type known struct {
	offset interval // the node's clock, since 1970, minus the process's, since origin
	at     time.Duration
	first  time.Duration // when the first of the replies was received
	last   time.Duration // when the last of the requests was sent
	jumps
}

// jumps is what is known about the jumps that were no sleep of the process. Zero: there were none.
type jumps struct {
	by    time.Duration // the latest
	ahead time.Duration // until when leases last that those forward end early
	back  time.Duration // when the latest one back was found; 0: there was none
}

// New returns a Clocks that has not seen any node.
func New(c Config) *Clocks { return &Clocks{config: c, nodes: make([]node, c.Nodes)} }

// Sighting is what a reply revealed, usually nothing. At most one field is set.
type Sighting struct {
	// Jumped is by how much the node's clock has jumped. [Clocks.Distrust] returns the consequences.
	Jumped time.Duration
	// Slept is an upper bound for how long the process's own clock stood still. Each sleep is reported once, and the
	// caller must add it to that clock immediately. Jumps that it explains are taken back.
	Slept time.Duration
}

// Note records a node's reply: its TIME in microseconds since 1970, when the request was sent, and when the reply was
// received. The server says who it is, or 0.
func (c *Clocks) Note(node int, sent, received time.Time, micros int64, server uint64) Sighting {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.origin.IsZero() {
		c.origin = sent
	}
	from, to := c.instantLocked(sent).lo, c.instantLocked(received).hi
	clock := time.Duration(min(max(micros, 0), maxMicros)) * time.Microsecond
	sighting := known{
		offset: interval{clock - to, clock - from}.widen(granularity/2 + c.drift(to-from)),
		at:     to,
		first:  to,
		last:   from,
	}

	n := &c.nodes[node]
	if !n.seen {
		n.seen, n.server, n.known = true, server, sighting
		return Sighting{}
	}
	if n.server == 0 || server != 0 && server != n.server {
		n.server, n.changed = server, to
	}
	if c.isLate(n, sighting) {
		return Sighting{}
	}
	if offset, at, agree := c.agree(n.known, sighting); agree {
		n.offset, n.at = offset, at
		n.last = max(n.last, from)
		return Sighting{}
	}
	sighting.jumps = c.jumpsLocked(n.known, sighting)
	n.past = append([]known{n.known}, n.past[:min(len(n.past), maxPast-1)]...)
	n.known = sighting
	if slept, ok := c.findSleepLocked(to); ok {
		c.takeBackLocked(slept, to)
		return Sighting{Slept: slept.by.hi}
	}
	return Sighting{Jumped: sighting.by}
}

// jumpsLocked returns the jumps up to the one that a sighting shows.
func (c *Clocks) jumpsLocked(before, now known) jumps {
	j := before.jumps
	if j.by = now.offset.middle() - before.offset.middle(); j.by < 0 {
		j.back = now.at
		return j
	}
	most := now.offset.hi - c.offsetAt(before, now.at).lo
	longest := c.config.Quarantine()
	harm := time.Duration(min(float64(most)/c.config.Spare, float64(longest)))
	j.ahead = min(max(j.ahead, now.at)+harm, now.at+longest)
	return j
}

// instantLocked returns the interval of an instant of the caller's, which may still lack a sleep.
func (c *Clocks) instantLocked(t time.Time) interval {
	d := t.Sub(c.origin)
	if d < c.settled {
		return interval{d, d + c.slack}
	}
	return interval{d, d}
}

// drift returns by how much two clocks may drift apart in d.
func (c *Clocks) drift(d time.Duration) time.Duration {
	return time.Duration(math.Ceil(math.Abs(float64(d)) * c.config.Drift))
}

// offsetAt returns the interval of the offset at another instant, if the clock does not jump.
func (c *Clocks) offsetAt(k known, at time.Duration) interval {
	return k.offset.widen(c.drift(at - k.at))
}

// agree returns what two sightings of one clock have in common, at the later of their instants.
func (c *Clocks) agree(a, b known) (offset interval, at time.Duration, ok bool) {
	at = max(a.at, b.at)
	offset, ok = c.offsetAt(a, at).share(c.offsetAt(b, at))
	return offset, at, ok
}

// isLate reports whether a sighting shows the node as it was before a jump, and may be that old.
func (c *Clocks) isLate(n *node, sighting known) bool {
	found := n.first
	for _, before := range n.past {
		if _, _, agree := c.agree(before, sighting); agree && sighting.last <= found {
			return true
		}
		found = before.first
	}
	return false
}
