package redlock

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Grants look for records that nobody needs any more, some at a time. A look at 32 records costs as much as two grants: so
// it is made after few grants where the last one found any, and less and less often where there are none. Four looks for
// each grant: even if each is of a name of its own, three of four records are still needed.
const (
	sweepAfter  = 8 // grants
	sweepAtMost = 256
	sweptAGrant = 4 // records
)

// sweep is how far the old records of one node have been looked for.
type sweep struct {
	mu      sync.Mutex // guards the fields below
	granted int        // since the last look
	after   int        // so many, the next one
	next    uint64     // where it begins: as the node has said
	asked   bool       // it is under way
}

// newSweep begins after any number of grants, and anywhere: there are processes that look but once.
func newSweep() *sweep {
	return &sweep{granted: rand.IntN(sweepAfter + 1), after: sweepAfter, next: uint64(rand.Uint32())}
}

// argument is what the script of a grant is told: nothing, or where to look, at how many, and the retention.
func (s *sweep) argument(retention time.Duration) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.granted < s.after || s.asked {
		return ""
	}
	s.asked = true
	looks := sweptAGrant * sweepAfter
	if s.after == sweepAfter { // the last look found some
		looks = sweptAGrant * s.granted
	}
	return fmt.Sprint(s.next, " ", looks, " ", retention.Milliseconds())
}

// see notes an answer: whether it was a grant, and what was found if it was one with a look.
func (s *sweep) see(granted bool, found *swept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = false // by this call, or by another one that is as good as lost
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
