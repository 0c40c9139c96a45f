package clock

import (
	"sync"
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
type sleep struct {
	read pair

	// mu guards the fields below and orders the reads: a difference from before a step back, added after it, would
	// count as growth. The reads never block.
	mu    sync.Mutex
	level time.Duration // the difference up to which growth is counted
	total time.Duration
}

func newSleep(read pair) *sleep {
	s := &sleep{read: read}
	_, s.level = s.difference()
	return s
}

// sum returns the growth until now. It never decreases.
func (s *sleep) sum() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	least, most := s.difference()
	switch {
	case least > s.level:
		s.total += least - s.level
		s.level = least // not most, so that a more exact read adds the rest
	case most < s.level:
		s.level = most // a step back, or a more exact read than the first
	}
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

// wallPair is the fallback: the wall clock counts sleep, but may be stepped.
func wallPair() pair {
	start := time.Now()
	return func() (before, counting, after time.Duration) {
		first, second, third := time.Now(), time.Now(), time.Now()
		return first.Sub(start), time.Duration(second.UnixNano()), third.Sub(start)
	}
}
