package scheduler_test

import (
	"flag"
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/race"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
)

// skewTicks is for long runs of the test.
var skewTicks = flag.Int("skew.ticks", race.Scale(10, 50), "ticks of each mix of skew and length")

// allZones also tests links and zones of equal rules.
var allZones = flag.Bool("zones.all", false, "changes of the clocks of all zones, not one of each kind")

func TestMain(m *testing.M) { testmain.Run(m) }
