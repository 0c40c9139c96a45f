//go:build unix

package integration_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
)

// atATime is how many tests run in parallel unless -parallel sets another number. It may exceed the number of
// processors, because tests mostly wait for leases to end.
const atATime = "12"

var (
	// shared is this process's clock.
	shared clock

	// still is when this process stood still.
	still stalls
)

func TestMain(m *testing.M) {
	if variable := os.Getenv(settingsVariable); variable != "" {
		os.Exit(beProcess(variable))
	}
	if os.Getenv(parentVariable) != "" {
		beParent()
	}
	var err error
	shared, err = newClock()
	if err := errors.Join(err, flag.Set("test.parallel", atATime)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go still.watch() // until the process ends
	testmain.Run(m, goleak.IgnoreCurrent())
}
