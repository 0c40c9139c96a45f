package redlock

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Grants sweep old records, a few at a time. Scanning 32 records costs as much as two grants. So if the last sweep
// removed some, the next one follows after few grants; if it removed none, sweeps become rarer each time. Each grant
// pays for four records. That keeps up even if every grant uses a new name and three of four records are still needed.
const (
	sweepAfter  = 8 // grants
	sweepAtMost = 256
	sweptAGrant = 4 // records
)

// sweep is the progress of the sweep on one node.
type sweep struct {
	mu      sync.Mutex // guards the fields below
	granted int        // grants since the last sweep
	after   int        // grants from one sweep to the next
	next    uint64     // cursor of the next sweep, from the node
	asked   bool       // a sweep is under way
}

// newSweep starts with a random number of grants and a random cursor, so that processes that sweep only once cover all
// records together.
func newSweep() *sweep {
	return &sweep{granted: rand.IntN(sweepAfter + 1), after: sweepAfter, next: uint64(rand.Uint32())}
}

// argument returns the sweep argument of the acquire script: the cursor, how many records to scan, and the retention;
// or nothing.
func (s *sweep) argument(retention time.Duration) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.granted < s.after || s.asked {
		return ""
	}
	s.asked = true
	looks := sweptAGrant * sweepAfter
	if s.after == sweepAfter { // the last sweep found some
		looks = sweptAGrant * s.granted
	}
	return fmt.Sprint(s.next, " ", looks, " ", retention.Milliseconds())
}

// see records an answer: whether it was a grant, and the result of its sweep, if any.
func (s *sweep) see(granted bool, found *swept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = false // ended with this call; another one that is still open counts as lost
	if granted {
		s.granted++
	}
	if found == nil {
		return
	}
	s.granted, s.after, s.next = 0, min(2*s.after, sweepAtMost), found.next
	if found.any {
		s.after = sweepAfter
	}
}
