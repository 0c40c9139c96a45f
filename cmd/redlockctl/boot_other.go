//go:build unix && !linux && !aix

package main

import "golang.org/x/sys/unix"

const bootClock = unix.CLOCK_MONOTONIC
