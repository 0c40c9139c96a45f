package election

import (
	"errors"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/nodeclock"
	"github.com/redlockfx/redlockfx/redlock"
)

const (
	// maxBookkeeping is how long a callback may go on after the work that it names without being late. A Scheduler needs it to write
	// the ends of runs while nodes do not answer.
	maxBookkeeping = 10 * time.Second

	// lasting is how long a state that may end by itself must have lasted to be a problem.
	lasting = time.Minute
)

// Problem is a state that keeps work from being done, and that does not end by itself.
type Problem struct {
	Err   error     // with what to do; it is an [ErrRestart] if a restart of this process helps
	Since time.Time // when it began
}

// Check returns nil while this process takes part in the election as it should. That is so while it leads or follows, while Redis
// does not answer, and while Run is not running. Otherwise the error joins those of all [Elector.Problems].
//
// Use it for an alert. A liveness probe should fail only if the error is an [ErrRestart], because a restart does not help with other
// problems.
func (e *Elector) Check() error {
	var all []error
	for _, p := range e.Problems() {
		all = append(all, p.Err)
	}
	return errors.Join(all...)
}

// Problems returns the problems of now. These are an [ErrRestart]:
//   - work outlives its lease ([ErrUndrained]);
//   - a hook, the logger or the panic handler has held up Run, or the ticks of jobs, for longer than the TTL;
//   - the Locker is closed, so this process can never lead again;
//   - for a minute, this process has led while its Scheduler was shut down, or has not started a tick for no known reason.
//
// With these a restart does not help. They have lasted for a minute:
//   - this process leads, and too few nodes serve its Scheduler;
//   - nobody can lead, because the clocks of the nodes differ too much or were stepped;
//   - somebody else has led for some minutes, and does not have jobs that this process has.
//
// Run logs each of them when it has found it, and every hour while it lasts.
func (e *Elector) Problems() []Problem {
	e.mu.Lock()
	t, failed, ended, report := e.term, e.failed, e.failedAt, e.partner.Problems
	e.mu.Unlock()
	if failed != nil {
		return []Problem{{needsRestart(failed), ended}}
	}
	var all []Problem
	for _, p := range append(e.heldUp(), e.late(t)...) {
		all = append(all, Problem{needsRestart(p.Err), p.Since})
	}
	add := func(err error, since time.Time) {
		if time.Since(since) >= lasting {
			all = append(all, Problem{err, since})
		}
	}
	if p := e.clocks.Load(); p != nil {
		add(p.Err, p.Since)
	}
	if report != nil {
		report(add)
	}
	return all
}

// late returns work of the term that outlives its lease.
func (e *Elector) late(t *Term) []Problem {
	if t == nil || t.Valid() {
		return nil
	}
	late, idle := t.late(), isDone(e.whenIdle())
	if late > 0 && len(e.stillRunning()) > 0 || late > maxBookkeeping && !idle {
		over := t.lease.Deadline()
		err := fmt.Errorf("%w; the lease of term %d was over at %s", e.undrained(), t.Token(), over.Format(time.RFC3339))
		return []Problem{{err, over}}
	}
	return nil
}

// heldUp returns the hooks, loggers and panic handlers that have held up Run, or the ticks of jobs, for longer than the TTL.
func (e *Elector) heldUp() (all []Problem) {
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
			err := fmt.Errorf("election: %q: %s has not returned for %v", e.name, c.what, took.Round(time.Millisecond))
			all = append(all, Problem{err, c.since})
		}
	}
	return all
}

// needsRestart makes an error an [ErrRestart].
func needsRestart(err error) error { return fmt.Errorf("%w: %w", err, ErrRestart) }

// seeClocks records whether an attempt to lead has failed because of the nodes' clocks.
func (e *Elector) seeClocks(err error) {
	if _, led := redlock.HeldBy(err); !led && errors.Is(err, redlock.ErrHeld) {
		return // other candidates hold votes, which says nothing of the clocks
	}
	q, ok := errors.AsType[*redlock.QuorumError](err)
	votes := 0
	if ok {
		votes = q.Got
		for _, n := range q.Nodes {
			if _, untrusted := errors.AsType[nodeclock.Untrusted](n.Err); untrusted {
				votes++
			}
		}
	}
	if !ok || q.Got >= q.Need || votes < q.Need {
		e.clocks.Store(nil)
		return
	}
	p := &Problem{Since: time.Now(), Err: fmt.Errorf("election: %q: nobody can lead because of the nodes' clocks: synchronize them: %w",
		e.name, err)}
	if before := e.clocks.Load(); before != nil {
		p.Since = before.Since
	}
	e.clocks.Store(p)
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
