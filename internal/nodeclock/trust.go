package nodeclock

import (
	"fmt"
	"slices"
	"time"
)

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
