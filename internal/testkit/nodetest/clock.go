package nodetest

import (
	"strconv"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// Offset makes node i's clock always that far ahead of this machine's (behind, if d is negative): as
// TIME tells it, also inside scripts, and as a Snapshot keeps expiries. No key expires earlier or
// later for it. What else on a node knows the time of day, EXPIREAT and its like, goes by this
// machine's clock.
func (c *Cluster) Offset(i int, d time.Duration) {
	c.change(i, func(s *state) { s.offset, s.stands = d, time.Time{} })
}

// Jump steps node i's clock forward by d: what TIME tells, and each key expires that much earlier.
// Scripts see the step at the latest when keys expire by it.
//
// A negative d sets back only what TIME tells. Here the keys expire when they would have; on a real
// node each lives longer by that much.
func (c *Cluster) Jump(i int, d time.Duration) {
	c.change(i, func(s *state) { s.offset += d })
	if d > 0 {
		c.nodes[i].redis.FastForward(d)
	}
}

// StandStill makes TIME tell from now on what it tells now, until Offset is called. Keys expire all the same.
func (c *Cluster) StandStill(i int) {
	c.change(i, func(s *state) { s.stands = s.now() })
}

// now returns the node's time of day.
func (s state) now() time.Time {
	if !s.stands.IsZero() {
		return s.stands
	}
	return time.Now().Add(s.offset)
}

// writeTime answers TIME.
func (s state) writeTime(p *server.Peer) {
	now := s.now().UnixMicro()
	p.WriteStrings([]string{
		strconv.FormatInt(now/1_000_000, 10),
		strconv.FormatInt(now%1_000_000, 10),
	})
}
