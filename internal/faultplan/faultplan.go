// Package faultplan draws random plans of faults for in-memory nodes, for tests that hold promises
// against them: whatever the plan, they must be kept.
package faultplan

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/redlockfx/redlockfx/internal/nodetest"
)

// Step is one moment of a plan.
type Step struct {
	After time.Duration // since the step before
	What  string        // a fault, its end, or one of the test's own
	Who   int           // the process that it concerns
	Nodes []int         // that it concerns
	Long  time.Duration // of a delay
}

func (s Step) String() string {
	return fmt.Sprintf("after %v %s process %d nodes %v (%v)", s.After, s.What, s.Who, s.Nodes, s.Long)
}

// Plan is a number of steps.
type Plan []Step

func (p Plan) String() string {
	lines := make([]string, len(p))
	for i, s := range p {
		lines[i] = s.String()
	}
	return strings.Join(lines, "\n")
}

// Draw draws a plan of 5 to 15 steps. Between two of them lies longest at most, and no delay is
// above slowest. own are kinds of steps that the test itself plays.
func Draw(t *rapid.T, processes, nodes int, longest, slowest time.Duration, own ...string) Plan {
	kinds := append([]string{
		"cut", "hang", "delay", "lose replies of", "heal", "kill", "restart",
	}, own...)
	up := func(d time.Duration) *rapid.Generator[int] { return rapid.IntRange(1, int(d/time.Millisecond)) }
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Step {
		return Step{
			After: time.Duration(up(longest).Draw(t, "after")) * time.Millisecond,
			What:  rapid.SampledFrom(kinds).Draw(t, "what"),
			Who:   rapid.IntRange(0, processes-1).Draw(t, "who"),
			Nodes: rapid.SliceOfNDistinct(rapid.IntRange(0, nodes-1), 1, nodes, rapid.ID).Draw(t, "nodes"),
			Long:  time.Duration(up(slowest).Draw(t, "long")) * time.Millisecond,
		}
	}), 5, 15).Draw(t, "plan")
}

// Play does what the step says to the process's links, or to the node. It does nothing for the
// test's own kinds.
func (s Step) Play(c *nodetest.Cluster, links *nodetest.Links) {
	switch s.What {
	case "cut":
		links.Cut(s.Nodes...)
	case "hang":
		links.Hang(s.Nodes...)
	case "delay":
		links.Delay(s.Long, s.Nodes...)
	case "lose replies of":
		links.DropReplies(s.Nodes...)
	case "heal":
		links.Heal()
	case "kill":
		c.Kill(s.Nodes[0])
	case "restart":
		c.Restart(s.Nodes[0])
	}
}

// End makes all well again.
func End(c *nodetest.Cluster) {
	for i := range c.Addrs() {
		c.Restart(i)
	}
	c.Heal()
}
