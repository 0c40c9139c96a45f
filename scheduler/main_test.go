package scheduler_test

import (
	"flag"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

// skewTicks is for long looks.
var skewTicks = flag.Int("skew.ticks", usualTicks, "ticks of each mix of skew and length")

// allZones looks at links and zones of equal rules as well.
var allZones = flag.Bool("zones.all", false, "changes of the clocks of all zones, not one of each kind")

func TestMain(m *testing.M) {
	logging.Disable() // go-redis reports each failed dial on its own
	goleak.VerifyTestMain(m)
}
