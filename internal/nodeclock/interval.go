package nodeclock

import "time"

// interval is the range of a value, both ends included.
type interval struct{ lo, hi time.Duration }

func (i interval) widen(by time.Duration) interval { return interval{i.lo - by, i.hi + by} }

func (i interval) holds(d time.Duration) bool { return i.lo <= d && d <= i.hi }

// share returns the intersection, or false if it is empty.
func (i interval) share(j interval) (interval, bool) {
	both := interval{max(i.lo, j.lo), min(i.hi, j.hi)}
	return both, both.lo <= both.hi
}

func (i interval) middle() time.Duration { return i.lo + (i.hi-i.lo)/2 }
