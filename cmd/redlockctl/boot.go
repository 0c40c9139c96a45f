//go:build unix && !aix

package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot is an instant that all processes of the machine share and nobody sets; where the system has such a clock,
// it goes on while the machine is suspended.
func sinceBoot() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(bootClock, &now) != nil { // a sandbox may refuse it, to each process alike
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	}
	return time.Duration(now.Nano())
}
