package jobstore

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// MaxSkew bounds how far apart the clocks of a majority may be, in addition to the time that a call takes.
const MaxSkew = time.Second

// ErrClock says that a node's clock disagrees with the others.
var ErrClock = errors.New("its clock disagrees with the other nodes")

// agreed returns the size of the largest set of nodes that have answered without an error and whose clocks agree, and the time by
// their clocks. The time is zero if the set has fewer than need nodes: some clock is wrong, and nobody knows which. within is how
// long a call may take.
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

// isOff returns an error if a node does not count, because its clock says now while the others say at.
func isOff(now int64, at time.Time, within time.Duration) error {
	if off := timeOf(now).Sub(at); off.Abs() > MaxSkew+within {
		return fmt.Errorf("%w, by %v", ErrClock, off.Round(time.Millisecond))
	}
	return nil
}
