//go:build unix

package integration_test

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// clock converts time.Now of this process to a time that all processes share.
type clock struct {
	base   time.Time
	shared time.Duration // the shared time at base
}

// newClock reads both clocks several times, and uses the pair with the least time between the two reads. With a single
// pair, a process that was not scheduled between the reads would have a clock that stays wrong by that time.
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
