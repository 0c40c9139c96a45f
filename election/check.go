package election

import (
	"fmt"
	"time"
)

// bookkeepingMost is for how long a callback that names its work may go on after it without being late: what a Scheduler
// writes of its runs while nodes are away.
const bookkeepingMost = 10 * time.Second

// Check returns nil while this process is fit to take part, for a liveness probe: as long as it leads or follows as it
// should, also while Redis is away, and while Run is not running. Otherwise a restart is the cure: work outlives its lease
// ([ErrUndrained]), a hook, the logger or the panic handler has held Run up for longer than the TTL, or the Locker is closed,
// so that this process can never lead again.
func (e *Elector) Check() error {
	e.mu.Lock()
	t, failed, telling := e.term, e.failed, e.telling
	e.mu.Unlock()
	if failed != nil {
		return failed
	}
	if took := time.Since(telling.since); telling.what != "" && took > e.config.ttl {
		return fmt.Errorf("election: %q: %s has not returned for %v", e.name, telling.what, took.Round(time.Millisecond))
	}
	if t == nil || t.Valid() {
		return nil
	}
	late, idle := t.late(), isDone(e.waitIdle())
	if late > 0 && len(e.stillRunning()) > 0 || late > bookkeepingMost && !idle {
		return fmt.Errorf("%w; the lease of term %d was over at %s", e.undrained(), t.Token(),
			t.lease.Deadline().Format(time.RFC3339))
	}
	return nil
}

// telling is what Run tells of itself to the application's own code, and since when.
type telling struct {
	what  string // "" if it does not
	since time.Time
}

// tell calls the application's own code on the goroutine of Run, and Check sees how long that takes.
func (e *Elector) tell(what string, fn func()) {
	e.setTelling(telling{what, time.Now()})
	defer e.setTelling(telling{})
	fn()
}

func (e *Elector) setTelling(t telling) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.telling = t
}
