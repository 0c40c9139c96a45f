// Package faultplan draws random plans of faults for in-memory nodes. Tests use it to check that the
// library keeps its promises under every plan.
package faultplan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

// Fault is a kind of fault: the step that starts it, and the step that ends it after a while. A fault
// that is over at once, or lasts forever, has no End.
type Fault struct{ Begin, End string }

// Faults are the faults that [Step.Play] can play.
var Faults = []Fault{
	// Faults of the links of one process to nodes, or of all processes.
	{"cut", "heal"},
	{"hang", "heal"},
	{"delay", "heal"},
	{"lose replies of", "heal"},

	// Faults of nodes that keep their data.
	{"kill", "restart"},
	{"restart", ""},

	// Faults of nodes that lose data.
	{"wipe", ""},
	{"kill and wipe", "restart"},
	{"copy the data of", "restart with the copy"},
}

// Step is one moment of a plan.
type Step struct {
	After     time.Duration // since the previous step
	What      string        // the start or the end of a fault
	Who       int           // the process that it affects
	Everybody bool          // it affects the links of all processes
	Nodes     []int         // the nodes that it affects
	Long      time.Duration // from the start to the end
	Slow      time.Duration // of a delay

	copies []*nodetest.Snapshot // of Nodes, shared by both steps of a fault
}

func (s Step) String() string {
	who := fmt.Sprintf("process %d", s.Who)
	if s.Everybody {
		who = "everybody"
	}
	return fmt.Sprintf("%s nodes %v, %s (long %v, slow %v)", s.What, s.Nodes, who, s.Long, s.Slow)
}

// Plan is a number of steps.
type Plan []Step

func (p Plan) String() string {
	var lines strings.Builder
	var at time.Duration
	for _, s := range p {
		at += s.After
		fmt.Fprintf(&lines, "%8v %v\n", at, s)
	}
	return lines.String()
}

// Config says what a plan may contain.
type Config struct {
	Processes, Nodes int
	Faults           []Fault
	Longest          time.Duration // the longest time from one fault to the next, and the longest fault
	Slowest          time.Duration // the longest delay
}

// Draw draws a plan of 1 to 12 faults and their ends.
func Draw(t *rapid.T, c Config) Plan {
	upTo := func(d time.Duration) *rapid.Generator[time.Duration] { return Between(time.Millisecond, d) }
	type fault struct {
		begin Step // its After is since the start of the previous fault
		end   string
	}
	faults := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) fault {
		kind := rapid.SampledFrom(c.Faults).Draw(t, "fault")
		return fault{end: kind.End, begin: Step{
			After:     upTo(c.Longest).Draw(t, "after"),
			What:      kind.Begin,
			Who:       rapid.IntRange(0, c.Processes-1).Draw(t, "who"),
			Everybody: rapid.IntRange(0, 3).Draw(t, "everybody") == 3,
			Nodes: rapid.SliceOfNDistinct(rapid.IntRange(0, c.Nodes-1), 1, c.Nodes, rapid.ID).
				Draw(t, "nodes"),
			Long: upTo(c.Longest).Draw(t, "long"),
			Slow: upTo(c.Slowest).Draw(t, "slow"),
		}}
	}), 1, 12).Draw(t, "faults")

	var plan Plan
	var at time.Duration
	for _, f := range faults {
		at += f.begin.After
		f.begin.After = at // since the start of the plan, until the steps are sorted
		f.begin.copies = make([]*nodetest.Snapshot, len(f.begin.Nodes))
		plan = append(plan, f.begin)
		if f.end != "" {
			end := f.begin
			end.What = f.end
			end.After += end.Long
			plan = append(plan, end)
		}
	}
	slices.SortStableFunc(plan, func(a, b Step) int { return cmp.Compare(a.After, b.After) })
	for i := len(plan) - 1; i > 0; i-- {
		plan[i].After -= plan[i-1].After
	}
	return plan
}

// Between draws whole milliseconds, all with the same probability. rapid's own ranges prefer their ends.
func Between(shortest, longest time.Duration) *rapid.Generator[time.Duration] {
	var all []time.Duration
	for d := shortest; d <= longest; d += time.Millisecond {
		all = append(all, d)
	}
	return rapid.SampledFrom(all)
}

// Way is how a process reaches the nodes: its links, or a type that contains them.
type Way interface {
	Cut(nodes ...int)
	Hang(nodes ...int)
	Delay(d time.Duration, nodes ...int)
	DropReplies(nodes ...int)
	Heal(nodes ...int)
}

// Play applies the step to the links of one process or of all processes, or to the nodes. It ignores
// faults that are not in [Faults]; the test must play those.
func (s Step) Play(c *nodetest.Cluster, way Way) {
	if s.Everybody {
		way = c.Faults
	}
	switch s.What {
	case "cut":
		way.Cut(s.Nodes...)
	case "hang":
		way.Hang(s.Nodes...)
	case "delay":
		way.Delay(s.Slow, s.Nodes...)
	case "lose replies of":
		way.DropReplies(s.Nodes...)
	case "heal":
		way.Heal(s.Nodes...)
	}
	for i, node := range s.Nodes {
		switch s.What {
		case "kill":
			c.Kill(node)
		case "restart":
			c.Restart(node)
		case "wipe":
			c.Wipe(node)
		case "kill and wipe":
			c.Kill(node)
			c.Wipe(node)
		case "copy the data of":
			s.copies[i] = c.Snapshot(node)
		case "restart with the copy":
			c.RestartFrom(node, s.copies[i])
		}
	}
}

// End ends all faults and restarts all nodes.
func End(c *nodetest.Cluster) {
	for i := range c.Addrs() {
		c.Restart(i)
	}
	c.Heal()
}
