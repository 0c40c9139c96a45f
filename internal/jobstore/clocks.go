package jobstore

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// MaxSkew bounds how far the clocks of a majority may be apart, not counting the time that a call takes.
const MaxSkew = time.Second

// ErrClock says that a node's clock disagrees with the others.
var ErrClock = errors.New("its clock is not that of the others")

// agreed returns the time of the largest set of nodes whose answers are good and whose clocks agree, and the size of that set. The
// time is zero if the set has fewer than need nodes: some clock is wrong, and nobody knows which. within is how long a call may
// take.
func agreed[T any](answers []quorum.Answer[T], need int, within time.Duration) (at time.Time, got int) {
	var clocks []int64
	for _, a := range answers {
		if a.Over && a.Err == nil {
			clocks = append(clocks, a.Time)
		}
	}
	slices.Sort(clocks)
	most := (MaxSkew + within).Microseconds()
	var first int
	for i := range clocks {
		n := 0
		for _, clock := range clocks[i:] {
			if clock-clocks[i] <= most {
				n++
			}
		}
		if n > got {
			first, got = i, n
		}
	}
	if got < need || got == 0 {
		return time.Time{}, got
	}
	return timeOf(clocks[first+(got-1)/2]), got
}

// isOff returns why a node does not count whose clock says now while the others say at; nil if it counts.
func isOff(now int64, at time.Time, within time.Duration) error {
	if off := timeOf(now).Sub(at); off.Abs() > MaxSkew+within {
		return fmt.Errorf("%w, by %v", ErrClock, off.Round(time.Millisecond))
	}
	return nil
}
