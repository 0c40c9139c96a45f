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
	goleak.VerifyTestMain(m)
}
