package election

import (
	"fmt"
	"time"
)

// maxBookkeeping is how long a callback may go on after the work that it names without being late. A Scheduler needs it to write
// the ends of runs while nodes do not answer.
const maxBookkeeping = 10 * time.Second

// Check returns nil while this process is fit to take part in the election. Use it for a liveness probe. It returns nil while the
// process leads or follows as it should, even if Redis does not answer, and while Run is not running. An error means that only a
// restart helps: work outlives its lease ([ErrUndrained]); a hook or the logger has held up Run for longer than the TTL; or the Locker
// is closed, so that this process can never lead again.
func (e *Elector) Check() error {
	e.mu.Lock()
	t, failed := e.term, e.failed
	e.mu.Unlock()
	if failed != nil {
		return failed
	}
	if since := e.inApp.Load(); since != nil && time.Since(*since) > e.config.ttl {
		return fmt.Errorf("election: %q: a hook or the logger has held up Run for %v", e.name, time.Since(*since).Round(time.Millisecond))
	}
	if t == nil || t.Valid() {
		return nil
	}
	late, idle := t.late(), isDone(e.whenIdle())
	if late > 0 && len(e.stillRunning()) > 0 || late > maxBookkeeping && !idle {
		return fmt.Errorf("%w; the lease of term %d was over at %s", e.undrained(), t.Token(),
			t.lease.Deadline().Format(time.RFC3339))
	}
	return nil
}

// callApp calls the application's own code, such as a hook or the logger, on the goroutine of Run. Check sees how long that takes.
func (e *Elector) callApp(fn func()) {
	now := time.Now()
	e.inApp.Store(&now)
	defer e.inApp.Store(nil)
	fn()
}
