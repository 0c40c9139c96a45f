package redlock_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/redlockfx/redlockfx/internal/testkit/faultplan"
	"github.com/redlockfx/redlockfx/internal/testkit/replay"
)

var plans = flag.Int("plans", 20, "how many plans TestSimulation_KeepsThePromises plays")

// These hold whatever happens to processes, to the network, to nodes and their data, and to clocks
// within the assumptions of the package's documentation:
//
//	P1  no two leases are valid at once, and after a process abandons one or crashes, nobody
//	    follows before its deadline
//	P3  each token is larger than the one before it
//	P4  a node that may have lost a lock sets none until MaxTTL has passed by its own clock
//	P5  when all is well again, nothing is left of holds that failed, were canceled or have ended
//
// A plan that breaks one is repeated, shrunk, and printed with all its events and its seed. -rapid.seed=N -plans=1 draws
// the same plan, but the goroutines may behave differently.
func TestSimulation_KeepsThePromises(t *testing.T) {
	t.Parallel()
	played, won, tries, steps := 0, 0, 1, 0
	rules := make(map[replay.Rule]int)
	var failed *world // the last one
	defer func() {
		t.Logf("%d plans, drawn from %s=%s, with %d leases", played, seedFlag, flag.Lookup(seedFlag).Value, won)
		t.Logf("replayed: %d steps; by rule:%s", steps, replay.Counts(rules))
		if failed != nil {
			t.Log(failed)
		}
	}()
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		for range tries {
			w := play(t, p)
			played++
			won += w.won
			steps += w.replay.AddTo(rules)
			if len(w.broken) > 0 {
				failed = w
				tries = 10 // shrinking starts: keep plans that fail only sometimes
				rt.Fatalf("%s is broken", w.broken[0].promise)
			}
		}
	})
	if *plans >= 100 && won < played {
		t.Errorf("%d leases were won in %d plans: they show nothing", won, played)
	}
}

const seedFlag = "rapid.seed"

// configureRapid makes every test that uses rapid draw as many times as there are plans, from a seed that can be
// printed. Tests that run in parallel read the flags, so it must be called before all of them.
func configureRapid() {
	flags := map[string]string{"rapid.checks": strconv.Itoa(*plans), "rapid.nofailfile": "true"}
	if flag.Lookup(seedFlag).Value.String() == "0" {
		flags[seedFlag] = strconv.FormatUint(rand.Uint64()>>1, 10)
	}
	for name, value := range flags {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}

// plan is one random scenario.
type plan struct {
	nodes   int
	offsets []time.Duration // of the nodes' clocks
	fast    []bool          // nodes whose clocks run fast
	visible bool            // clocks are stepped only slightly, but all processes have seen them before
	turns   [][]turn        // by process
	steps   faultplan.Plan
}

func drawPlan(t *rapid.T) plan {
	p := plan{nodes: rapid.SampledFrom([]int{3, 3, 5, 1}).Draw(t, "nodes")}
	faults := append([]faultplan.Fault{
		{Begin: "crash", End: "replace"}, {Begin: "pause", End: "resume"},
	}, faultplan.Faults...)
	p.visible = p.nodes > 1 && rapid.Bool().Draw(t, "visible")
	if p.nodes > 1 {
		faults = append(faults, faultplan.Fault{Begin: "step the clock of"})
	}
	if !p.visible {
		faults = append(faults, faultplan.Fault{Begin: "suspend"}, faultplan.Fault{Begin: "leap"})
	}
	for range p.nodes {
		offset := time.Duration(0)
		if !p.visible {
			offset = faultplan.Between(0, maxOffset).Draw(t, "offset")
		}
		p.offsets = append(p.offsets, offset)
		p.fast = append(p.fast, rapid.Bool().Draw(t, "fast"))
	}
	p.turns = rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(drawTurn), 1, 4), 2, 8).Draw(t, "turns")
	p.steps = faultplan.Draw(t, faultplan.Config{
		Processes: len(p.turns), Nodes: p.nodes, Faults: faults,
		Longest: 3 * simTTL / 2, Slowest: simNodeTimeout / 2,
	})
	return p
}

func (p plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d nodes, offsets %v, fast %v, visible %v\n", p.nodes, p.offsets, p.fast, p.visible)
	for i, turns := range p.turns {
		for _, t := range turns {
			fmt.Fprintf(&b, "process %d: %+v\n", i, t)
		}
	}
	return b.String() + p.steps.String()
}

// play runs the plan in a bubble and returns the world afterwards.
func play(t *testing.T, p plan) *world {
	var w *world
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(t, p)
		defer w.close()
		for _, step := range p.steps {
			w.sleep(step.After)
			w.play(step)
			w.look()
		}
		w.end()
	})
	return w
}

// String describes all events.
func (w *world) String() string {
	var b strings.Builder
	for _, broken := range w.broken {
		fmt.Fprintf(&b, "%s is broken: %s\n", broken.promise, broken.how)
	}
	fmt.Fprintf(&b, "\nThe plan:\n%v\nWhat happened:\n", w.plan)
	for _, e := range w.events {
		fmt.Fprintf(&b, "%12v %-10s %s\n", e.at, cmp.Or(e.who, "-"), e.what)
	}
	return b.String()
}
