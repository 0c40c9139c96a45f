package clock

import (
	"sync"
	"time"
)

// Reads of the pair that are further apart are repeated, for a sharper result.
const (
	apart = 100 * time.Microsecond
	tries = 10
)

// pair reads a clock that counts the machine's sleep, between two reads of one that does not.
type pair func() (before, counting, after time.Duration)

// sleep adds up by how much the difference of a pair grows.
//
// The clocks cannot be read at once, and the process may be held up between the reads for as long
// as it likes. But the difference is surely not below counting − after, and not above counting −
// before. Only growth from the most it can have been to the least it must be now is counted, so
// that a process that was held up never looks like a machine that slept.
type sleep struct {
	read pair

	// mu guards the fields below and puts the reads in order: a difference from before a step back,
	// added after it, would count as growth. The reads wait for nothing.
	mu    sync.Mutex
	level time.Duration // the difference up to which growth is counted
	total time.Duration
}

func newSleep(read pair) *sleep {
	s := &sleep{read: read}
	_, s.level = s.difference()
	return s
}

// sum is the growth until now. It never decreases.
func (s *sleep) sum() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	least, most := s.difference()
	switch {
	case least > s.level:
		s.total += least - s.level
		s.level = least // and not most, so that a sharper read adds what is still missing
	case most < s.level:
		s.level = most // a step back, or a sharper read than the first
	}
	return s.total
}

// difference is how far the counting clock is ahead of the other, at least and at most.
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

// wallPair is for where there is no better one: the wall clock counts sleep, but may be stepped.
func wallPair() pair {
	start := time.Now()
	return func() (before, counting, after time.Duration) {
		first, second, third := time.Now(), time.Now(), time.Now()
		return first.Sub(start), time.Duration(second.UnixNano()), third.Sub(start)
	}
}
