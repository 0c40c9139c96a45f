package redlock

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// The janitor of a node sweeps old records, a few at a time. Scanning 128 records takes a node as long as eight grants. So
// if most of them were old, the next sweep follows after few grants; if none was, sweeps become rarer each time. In
// between, each grant pays for four records. That keeps up even if every grant uses a new name and three of four records
// are still needed.
const (
	sweptAtOnce = 128 // records
	sweepSoon   = 8   // grants
	sweepAfter  = 32
	sweepAtMost = 1024
)

// sweep is the progress of the sweeps of one node.
type sweep struct {
	granted int       // grants since the last sweep
	after   int       // grants from one sweep to the next
	next    int64     // cursor of the next sweep, from the node
	made    bool      // there was one
	full    bool      // the node refused a request for lack of memory: sweep while much is removed, or until all was scanned
	notYet  time.Time // when the next sweep of a full node may follow
}

// newSweep starts with a random cursor, so that processes that sweep only once cover all records together.
func newSweep() sweep { return sweep{after: sweepAfter, next: int64(rand.Uint32())} }

// due returns in how long the next sweep is due, or false if that depends on grants.
func (s *sweep) due(now time.Time) (wait time.Duration, ok bool) {
	if s.full {
		return max(s.notYet.Sub(now), 0), true
	}
	return 0, s.granted >= s.after
}

// done records the outcome of a sweep. A sweep that failed is not repeated before as many grants again.
func (s *sweep) done(found swept, err error, notYet time.Time) {
	s.granted, s.made, s.notYet = 0, true, notYet
	if err != nil || found.denied != nil {
		s.full = false
		return
	}
	s.next = found.next
	switch {
	case found.removed >= sweptAtOnce/2:
		s.after = sweepSoon
	case found.removed > 0:
		s.after, s.full = sweepAfter, false
	default:
		s.after = min(2*s.after, sweepAtMost)
	}
	s.full = s.full && s.next != 0
}

// swept is the outcome of a sweep.
type swept struct {
	removed int64
	next    int64 // cursor of the next sweep
	denied  error // why records cannot be removed
}

func readSwept(r *quorum.Reply) (swept, error) {
	switch code, removed, next, err := item(r); {
	case err != nil:
		return swept{}, err
	case code == 'y':
		return swept{removed: removed, next: next}, nil
	case code == 'e':
		text, err := r.Text()
		return swept{denied: fmt.Errorf("old records are not removed: %.200q", text)}, err
	default:
		return swept{}, fmt.Errorf("unexpected answer %q", code)
	}
}
