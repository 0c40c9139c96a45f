//go:build unix && !aix

package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot returns an instant of a clock that all processes of the machine share and nobody sets. It also counts the
// time for which the machine was suspended, if the system has a clock that does.
func sinceBoot() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(bootClock, &now) != nil { // a sandbox may refuse that clock, to both processes
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	}
	return time.Duration(now.Nano())
}
