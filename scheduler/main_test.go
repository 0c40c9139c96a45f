package scheduler_test

import (
	"flag"
	"testing"
	_ "time/tzdata" // the same zones on every machine that has none of its own

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

// skewTicks is for long looks.
var skewTicks = flag.Int("skew.ticks", usualTicks, "ticks of each mix of skew and length")

func TestMain(m *testing.M) {
	logging.Disable() // go-redis reports each failed dial on its own
	goleak.VerifyTestMain(m)
}
