package cronspec_test

import (
	"flag"
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
)

// The defaults are small. make soak tests all zones.
var (
	zoneStep = flag.Int("zones.step", 40, "of how many changes of clocks one is tested")
	allZones = flag.Bool("zones.all", false, "changes of the clocks of all zones, not one of each kind")
)

func TestMain(m *testing.M) { testmain.Run(m) }
