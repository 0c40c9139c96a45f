package clock

import (
	"syscall"
	"time"
	"unsafe"
)

// From linux/time.h. They differ by exactly the time suspended.
const (
	clockRealtime  = 0
	clockMonotonic = 1
	clockBoottime  = 7
)

// machinePair falls back to the wall clock where the kernel or a sandbox refuses the raw calls.
func machinePair() pair {
	if _, errno := gettime(clockBoottime); errno != 0 {
		return wallPair()
	}
	wall, _ := gettime(clockRealtime)
	start := time.Now()
	if start.Sub(time.Unix(0, int64(wall))).Abs() > time.Hour {
		return boottimePair // time.Now is a bubble's
	}
	return func() (before, counting, after time.Duration) {
		before = time.Since(start) // by the monotonic clock, which the runtime reads without a system call
		counting, _ = gettime(clockBoottime)
		return before, counting, time.Since(start)
	}
}

// boottimePair is for testing/synctest bubbles. It drops the errors of calls that machinePair has seen to work.
func boottimePair() (before, counting, after time.Duration) {
	before, _ = gettime(clockMonotonic)
	counting, _ = gettime(clockBoottime)
	after, _ = gettime(clockMonotonic)
	return before, counting, after
}

// gettime asks the kernel itself, which answers with real time in a testing/synctest bubble too.
func gettime(clock uintptr) (time.Duration, syscall.Errno) {
	var now syscall.Timespec
	_, _, errno := syscall.RawSyscall(
		syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&now)), 0)
	return time.Duration(now.Nano()), errno
}
