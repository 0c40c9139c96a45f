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
// restart helps: work outlives its lease ([ErrUndrained]); a hook, the logger or the panic handler has held up Run, or the ticks of
// jobs, for longer than the TTL; or the Locker is closed, so that this process can never lead again.
func (e *Elector) Check() error {
	e.mu.Lock()
	t, failed := e.term, e.failed
	e.mu.Unlock()
	if failed != nil {
		return failed
	}
	if err := e.heldUp(); err != nil {
		return err
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

// heldUp returns an error if a hook, the logger or the panic handler has held up Run, or the ticks of jobs, for longer than the TTL.
func (e *Elector) heldUp() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var calls []appCall
	if c := e.inApp.Load(); c != nil {
		calls = append(calls, *c)
	}
	for _, w := range e.running {
		what, since := w.doing.Busy()
		calls = append(calls, appCall{what, since})
	}
	for _, c := range calls {
		if took := time.Since(c.since); c.what != "" && took > e.config.ttl {
			return fmt.Errorf("election: %q: %s has not returned for %v", e.name, c.what, took.Round(time.Millisecond))
		}
	}
	return nil
}

// appCall is a call of the application's own code, such as a hook or the logger, by Run.
type appCall struct {
	what  string // "" if a callback makes none
	since time.Time
}

// callApp calls the application's own code on the goroutine of Run, and lets Check see how long that takes.
func (e *Elector) callApp(what string, fn func()) {
	e.inApp.Store(&appCall{what, time.Now()})
	defer e.inApp.Store(nil)
	fn()
}
