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
	until := c.origin.Add(c.untilLocked(n))
	if n.by == 0 || c.config.Nodes < 3 || !now.Before(until) {
		return nil
	}
	return &JumpError{By: n.by, Until: until, Left: until.Sub(now)}
}

// untilLocked returns until when the node's jumps matter.
func (c *Clocks) untilLocked(n *node) time.Duration {
	longest := c.config.Quarantine()
	until := min(n.ahead, n.found+longest)
	if n.back > 0 && (n.jump.server == 0 || n.jump.server != n.server) {
		until = max(until, n.back+longest)
	}
	return until
}

// Agree returns the largest set of these nodes whose clocks agree pairwise: as far as known, they may be within
// Config.MaxSkew of each other. The set is in ascending order; among several of equal size, Agree returns the first in
// that order. A node never seen is in no set. With fewer than three nodes, all agree.
func (c *Clocks) Agree(nodes []int) []int {
	sorted := nodes
	if !slices.IsSorted(sorted) {
		sorted = slices.Sorted(slices.Values(nodes))
	}
	if c.config.Nodes < 3 {
		return sorted
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	unseen := func(i int) bool { return !c.nodes[i].seen }
	if slices.ContainsFunc(sorted, unseen) {
		sorted = slices.DeleteFunc(slices.Clone(sorted), unseen)
	}
	var at time.Duration
	for _, i := range sorted {
		at = max(at, c.nodes[i].at)
	}
	// If intervals are pairwise within MaxSkew of each other, all of them are within it of the highest lower end.
	var best []int
	for _, i := range sorted {
		end := c.offsetAt(c.nodes[i].known, at).lo
		near := func(j int) bool {
			offset := c.offsetAt(c.nodes[j].known, at)
			offset.hi += c.config.MaxSkew
			return offset.holds(end)
		}
		if !slices.ContainsFunc(sorted, func(j int) bool { return !near(j) }) {
			return sorted // the usual case
		}
		var set []int
		for _, j := range sorted {
			if near(j) {
				set = append(set, j)
			}
		}
		if len(set) > len(best) || len(set) == len(best) && slices.Compare(set, best) < 0 {
			best = set
		}
	}
	return best
}
