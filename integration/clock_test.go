//go:build unix

package integration_test

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// clock tells the instants of this process's time.Now in a time that all processes share.
type clock struct {
	base   time.Time
	shared time.Duration // at base
}

// newClock reads both clocks several times and takes the pair between which the least time went by:
// a process that was not scheduled in between would be off by as much ever after.
func newClock() (clock, error) {
	var best clock
	least := time.Duration(math.MaxInt64)
	for range 100 {
		base := time.Now()
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
			return clock{}, err
		}
		if took := time.Since(base); took < least {
			least, best = took, clock{base, time.Duration(now.Nano())}
		}
	}
	return best, nil
}

func (c clock) at(t time.Time) time.Duration { return c.shared + t.Sub(c.base) }

func (c clock) now() time.Duration { return c.at(time.Now()) }
