package scheduler_test

import (
	"flag"
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
)

// The defaults are small. make soak plays many more.
var (
	skewTicks    = flag.Int("skew.ticks", 20, "ticks of each mix of skew and length")
	removedPlans = flag.Uint64("removed.plans", 6, "random plans of jobs that are added and removed")
	setBacks     = flag.Int("setback.plans", 6, "random plans of clocks that are set back")
	setBackAsked = flag.Int("setback.verbs", 24, "mixes of verbs and set-backs")
	thousand     = flag.Int("thousand.jobs", 200, "jobs that start at one instant")
)

func TestMain(m *testing.M) { testmain.Run(m) }

// long skips a test that takes seconds of processor time where short ones are wanted, as with the race detector: it makes them minutes.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes long")
	}
}
