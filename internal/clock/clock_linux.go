package clock

import (
	"syscall"
	"time"
	"unsafe"
)

// From linux/time.h.
const (
	clockRealtime = 0
	clockBoottime = 7
)

// machinePair falls back to the wall clock if the kernel or a sandbox refuses the raw calls, and in a testing/synctest
// bubble, in whose time no machine sleeps.
func machinePair() pair {
	if _, errno := gettime(clockBoottime); errno != 0 {
		return wallPair()
	}
	wall, _ := gettime(clockRealtime)
	start := time.Now()
	if start.Sub(time.Unix(0, int64(wall))).Abs() > time.Hour {
		return wallPair() // time.Now is the time of a bubble
	}
	return func() (before, counting, after time.Duration) {
		before = time.Since(start) // the monotonic clock, read without a system call
		counting, _ = gettime(clockBoottime)
		return before, counting, time.Since(start)
	}
}

// gettime calls the kernel, which returns real time even in a testing/synctest bubble.
func gettime(clock uintptr) (time.Duration, syscall.Errno) {
	var now syscall.Timespec
	_, _, errno := syscall.RawSyscall(
		syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&now)), 0)
	return time.Duration(now.Nano()), errno
}
