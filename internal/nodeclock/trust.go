package nodeclock

import (
	"fmt"
	"slices"
	"time"
)

// JumpError says that a node's clock has jumped, and that its votes do not count yet.
type JumpError struct {
	By    time.Duration // positive: forward; negative: backward
	Until time.Time     // by the process's clock
	Left  time.Duration // time left until then
}

func (e *JumpError) Error() string {
	return fmt.Sprintf("its clock jumped by %v: it does not vote for another %v",
		e.By.Round(time.Millisecond), (e.Left + time.Millisecond - 1).Truncate(time.Millisecond))
}

// Distrust returns nil if the node's votes count. Otherwise it returns a [*JumpError]: its clock has jumped, and somebody
// may still have a lease that this ends early or brings back. With fewer than three nodes a jump is ignored, because
// none can be spared.
func (c *Clocks) Distrust(node int, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &c.nodes[node]
	harm := n.ahead
	if both := min(n.back, n.changed); both > 0 {
		harm = max(harm, both+c.config.Quarantine())
	}
	until := c.origin.Add(harm)
	if c.config.Nodes < 3 || !now.Before(until) {
		return nil
	}
	return &JumpError{By: n.by, Until: until, Left: until.Sub(now)}
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
		end := c.offsetAt(c.nodes[i].known, at).lo
		far := func(j int) bool {
			offset := c.offsetAt(c.nodes[j].known, at)
			offset.hi += c.config.MaxSkew
			return !c.nodes[j].seen || !offset.holds(end)
		}
		if !slices.ContainsFunc(nodes, far) {
			return nodes // the usual case
		}
		set := slices.DeleteFunc(slices.Clone(nodes), far)
		if len(set) > len(best) || len(set) == len(best) && slices.Compare(set, best) < 0 {
			best = set
		}
	}
	return best
}
