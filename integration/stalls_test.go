//go:build unix

package integration_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	beat = 10 * time.Millisecond

	// standstill is how late a beat must be to count as a stall of the machine or of this process.
	standstill = 250 * time.Millisecond
)

// stalls records when a process stood still. A failed test logs them, because the machine, not the library, lost a
// lease that was lost at such a time.
type stalls struct {
	mu  sync.Mutex // guards all
	all []stall
}

type stall struct{ from, to time.Duration }

// watch records stalls until the process ends; it never returns.
func (s *stalls) watch() {
	for before := shared.now(); ; {
		time.Sleep(beat)
		now := shared.now()
		if now-before > standstill {
			s.mu.Lock()
			s.all = append(s.all, stall{before, now})
			s.mu.Unlock()
		}
		before = now
	}
}

// tell logs at the end of a failed test when the machine stood still during it.
func (s *stalls) tell(t *testing.T) {
	began := shared.now()
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.since(began))
		}
	})
}

func (s *stalls) since(began time.Duration) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text strings.Builder
	fmt.Fprintf(&text, "in %v this process stood still for more than %v:", shared.now()-began, standstill)
	none := true
	for _, stall := range s.all {
		if stall.to > began {
			none = false
			fmt.Fprintf(&text, "\nat %v for %v", stall.from, stall.to-stall.from)
		}
	}
	if none {
		text.WriteString(" never")
	}
	return text.String()
}
