package election

import (
	"fmt"
	"time"
)

// Check returns nil while this process is fit to take part, for a liveness probe: as long as it leads or follows as it
// should, also while Redis is away, and while Run is not running. Otherwise a restart is the cure: work outlives its lease
// ([ErrUndrained]), the contexts of a term did not end by its stop deadline, or the Locker is closed, so that this process can
// never lead again.
func (e *Elector) Check() error {
	e.mu.Lock()
	t, failed := e.term, e.failed
	e.mu.Unlock()
	if failed != nil || t == nil {
		return failed
	}
	switch now, over := time.Now(), t.lease.Deadline(); {
	case now.After(over) && len(e.stillRunning()) > 0:
		return fmt.Errorf("%w; the lease of term %d was over at %s", e.undrained(), t.Token(), over.Format(time.RFC3339))
	case t.work.Err() == nil && now.After(t.Deadline().Add(e.config.margin)):
		return fmt.Errorf("election: %q: term %d has not ended by its stop deadline %s", e.name, t.Token(),
			t.Deadline().Format(time.RFC3339))
	}
	return nil
}
