//go:build unix && !aix

package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot returns an instant of a clock that all processes of the machine share and nobody sets. If the system has
// such a clock, it also counts the time suspended.
func sinceBoot() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(bootClock, &now) != nil { // a sandbox may refuse that clock, to both processes
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	}
	return time.Duration(now.Nano())
}
