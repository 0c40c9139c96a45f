//go:build unix

package integration_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

// shared is this process's clock.
var shared clock

// still is when this process stood still.
var still stalls

func TestMain(m *testing.M) {
	logging.Disable() // go-redis reports each failed dial on its own
	if variable := os.Getenv(settingsVariable); variable != "" {
		os.Exit(beReplica(variable))
	}
	var err error
	if shared, err = newClock(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go still.watch() // until the process ends
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redlockfx/redlockfx/integration_test.(*stalls).watch"))
}
