package nodetest

import (
	"strconv"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// Offset keeps node i's clock d ahead of this machine's clock, or behind it if d is negative. TIME
// shows it, also inside scripts, and a Snapshot uses it for expiries. No key expires earlier or later
// because of it. Other commands with a time of day, like EXPIREAT, use this machine's clock.
func (c *Cluster) Offset(i int, d time.Duration) {
	c.change(i, func(s *state) { s.offset = d })
}

// Jump steps node i's clock forward by d: TIME shows the step, and each key expires d earlier. When
// keys expire because of the step, scripts already see it.
//
// A negative d changes only what TIME shows. Keys expire when they would have expired without it; on
// a real node, each would live that much longer.
func (c *Cluster) Jump(i int, d time.Duration) {
	c.change(i, func(s *state) { s.offset += d })
	if d > 0 {
		c.nodes[i].redis.FastForward(d)
	}
}

// now returns the node's time of day.
func (s state) now() time.Time { return time.Now().Add(s.offset) }

// writeTime answers TIME.
func (s state) writeTime(p *server.Peer) {
	now := s.now().UnixMicro()
	p.WriteStrings([]string{
		strconv.FormatInt(now/1_000_000, 10),
		strconv.FormatInt(now%1_000_000, 10),
	})
}
