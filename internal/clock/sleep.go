package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

// Reads of a pair that are further apart are repeated, for a more exact result.
const (
	apart = 100 * time.Microsecond
	tries = 10
)

// pair reads a clock that counts the machine's sleep, between two reads of one that does not.
type pair func() (before, counting, after time.Duration)

// sleep adds up the growth of a pair's difference.
//
// The clocks cannot be read at the same instant, and the process may be delayed between the reads for any time. But the
// difference is at least counting − after and at most counting − before. Only growth from the largest possible old
// difference to the smallest possible new one is counted, so a delayed process never looks like a machine that slept.
//
// To read the counting clock is a system call, which takes longer than all else that a call does with time. So it is read
// only if the wall clock has gained or lost on the monotonic one since the last time, as it does when the machine sleeps.
// Only sleep of which the wall clock was set back at the same time by the same length escapes that, until the next poll.
type sleep struct {
	read  pair
	ahead func() time.Duration // by how much the wall clock is ahead of the monotonic one
	seen  atomic.Int64         // ahead just before the last read; stored after known
	known atomic.Int64         // total after that read

	// mu guards the fields below and orders the reads: a difference from before a step back, added after it, would
	// count as growth. The reads never block.
	mu    sync.Mutex
	level time.Duration // the difference up to which growth is counted
	total time.Duration
}

func newSleep(read pair, ahead func() time.Duration) *sleep {
	s := &sleep{read: read, ahead: ahead}
	s.seen.Store(int64(ahead()))
	_, s.level = s.difference()
	return s
}

// sum returns the growth until now. It never decreases.
func (s *sleep) sum() time.Duration {
	if (s.ahead() - time.Duration(s.seen.Load())).Abs() <= apart {
		return time.Duration(s.known.Load())
	}
	return s.exact()
}

// exact is sum by the counting clock.
func (s *sleep) exact() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	ahead := s.ahead() // before the read: sleep in between is read again
	least, most := s.difference()
	switch {
	case least > s.level:
		s.total += least - s.level
		s.level = least // not most, so that a more exact read adds the rest
	case most < s.level:
		s.level = most // a step back, or a more exact read than the first
	}
	s.known.Store(int64(s.total))
	s.seen.Store(int64(ahead))
	return s.total
}

// difference returns bounds for how far the counting clock is ahead of the other.
func (s *sleep) difference() (least, most time.Duration) {
	for range tries {
		before, counting, after := s.read()
		least, most = counting-after, counting-before
		if after-before <= apart {
			break
		}
	}
	return least, most
}

// wallAhead returns a function for how much the wall clock has gained on the monotonic one. Neither costs a system call.
func wallAhead() func() time.Duration {
	start := time.Now()
	return func() time.Duration {
		now := time.Now()
		return now.Round(0).Sub(start.Round(0)) - now.Sub(start)
	}
}

// wallPair is the fallback: the wall clock counts sleep, but may be stepped.
func wallPair() pair {
	start := time.Now()
	return func() (before, counting, after time.Duration) {
		first, second, third := time.Now(), time.Now(), time.Now()
		return first.Sub(start), time.Duration(second.UnixNano()), third.Sub(start)
	}
}
