package clock

import (
	"syscall"
	"time"
	"unsafe"
)

// From linux/time.h. They differ by exactly the time suspended.
const (
	clockMonotonic = 1
	clockBoottime  = 7
)

// machinePair falls back to the wall clock where the kernel or a sandbox refuses the raw calls.
func machinePair() pair {
	if _, errno := gettime(clockBoottime); errno != 0 {
		return wallPair()
	}
	return boottimePair
}

// boottimePair drops the errors of calls that machinePair has seen to work.
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
