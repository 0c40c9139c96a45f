package election

import (
	"fmt"
	"time"
)

// Check tells whether this process is fit to take part, for a liveness probe: nil as long as it
// leads or follows as it should, also while Redis is away, and while Run is not running. Otherwise
// a restart is the cure: callbacks outlive their lease ([ErrUndrained]), the contexts of a term did
// not end by its stop deadline, or the loop does not move.
func (e *Elector) Check() error {
	e.mu.Lock()
	t, beat, running := e.term, e.beat, len(e.runningLocked())
	e.mu.Unlock()

	now := time.Now()
	switch {
	case t != nil && running > 0 && now.After(t.lease.Deadline()):
		return fmt.Errorf("%w, past the end of term %d at %s", e.undrained(), t.Token(),
			t.lease.Deadline().Format(time.RFC3339))
	case t != nil && t.work.Err() == nil && now.After(t.Deadline().Add(t.margin)):
		return fmt.Errorf("election: %q: term %d has not ended by its stop deadline %s",
			e.name, t.Token(), t.Deadline().Format(time.RFC3339))
	case !beat.IsZero() && now.After(beat):
		return fmt.Errorf("election: %q: the loop has not moved since before %s",
			e.name, beat.Format(time.RFC3339))
	}
	return nil
}
