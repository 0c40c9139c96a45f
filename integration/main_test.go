//go:build unix

package integration_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
)

// atATime is how many tests run in parallel unless -parallel sets another number. It may exceed the number of
// processors, because tests mostly wait for leases to end.
const atATime = "12"

// inMemory is where the servers' files are, if it has room. Those that persist each write before they answer are else as slow as the
// machine's disk, and in tests a node has 300 ms.
const inMemory = "/dev/shm"

// hasRoom reports whether a folder has a gigabyte left.
func hasRoom(folder string) bool {
	var s syscall.Statfs_t
	return syscall.Statfs(folder, &s) == nil && uint64(s.Bavail)*uint64(s.Bsize) >= 1<<30
}

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
	if os.Getenv("TMPDIR") == "" && hasRoom(inMemory) {
		_ = os.Setenv("TMPDIR", inMemory) // cannot fail
	}
	go still.watch() // until the process ends
	testmain.Run(m, goleak.IgnoreCurrent())
}
