package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/election"
)

const (
	// overdueAfter is how late a tick is for which no reason is known before it counts as overdue.
	overdueAfter = time.Minute
	// lackedAfter is how long a leader may lack jobs of this process, as it does during a deploy that adds them.
	lackedAfter = followEvery
	// maxScanned bounds how many jobs are looked at in one go, which holds up ticks. Of more jobs, each look takes others.
	maxScanned = 10_000
)

// trouble is why jobs of this process do not run, and since when.
type trouble struct {
	err   error
	since time.Time
}

// troubleOf returns the trouble that begins with an error, or goes on with it. It returns nil if err is nil.
func troubleOf(before *trouble, err error) *trouble {
	switch {
	case err == nil:
		return nil
	case before == nil:
		return &trouble{err, time.Now()}
	}
	return &trouble{err, before.since}
}

// problems reports why jobs of this process do not run: see [inside.Partner].
func (s *Scheduler) problems(report func(err error, since time.Time)) {
	term, leads := s.elector.Term()
	s.mu.Lock()
	l, closed, lacked := s.loop, s.closed, s.lacked
	s.mu.Unlock()
	leads = leads && (!closed.IsZero() || l != nil && l.term == term)
	switch {
	case leads && !closed.IsZero():
		err := fmt.Errorf("%w, and this process leads, so no job ticks anywhere: end its Elector.Run as well, or %w",
			errShutdown, election.ErrRestart)
		if l != nil && l.term == term {
			if runs := l.runner.underway(); len(runs) > 0 {
				err = fmt.Errorf("%w: no job ticks anywhere while Shutdown waits for %s: give it less time", errShutdown,
					strings.Join(runs, ", "))
			}
		}
		report(err, latest(closed, term.Since()))
	case leads:
		if t := l.idle.Load(); t != nil {
			report(t.err, t.since)
		}
	case lacked != nil && time.Since(lacked.since) >= lackedAfter:
		report(lacked.err, lacked.since)
	}
}

// noteIdle notes why the leader starts nothing, or no longer why, and returns when to look again at the latest.
func (l *loop) noteIdle(now time.Time) time.Duration {
	if !time.Now().Before(l.scanAt) {
		l.scanAt = time.Now().Add(overdueAfter)
		l.overdue = l.findOverdue(now.Add(-overdueAfter))
	}
	if before, t := l.idle.Load(), troubleOf(l.idle.Load(), l.whyIdle()); before != nil || t != nil {
		l.idle.Store(t)
	}
	return time.Until(l.scanAt)
}

// whyIdle returns why the leader starts nothing, or not all that is due.
func (l *loop) whyIdle() error {
	const nothing = "scheduler: this process leads and starts nothing: see to the nodes, as too few of them "
	switch b := &l.ballot; {
	case l.drained || b.fenced: // the term ends
		return nil
	case b.Ballot == "" || b.failures > 0:
		return fmt.Errorf(nothing+"serve it: %w", orNoAnswer(b.problem))
	case l.prepares.failures > 0:
		return fmt.Errorf(nothing+"return the state of the jobs: %w", orNoAnswer(l.prepares.problem))
	case !l.writes.failed.IsZero():
		return fmt.Errorf(nothing+"store the state of jobs: %w", orNoAnswer(l.writes.problem))
	}
	return l.overdue
}

func orNoAnswer(err error) error {
	if err == nil {
		return errors.New("they have not answered yet")
	}
	return err
}

// findOverdue returns an error that names a job with a tick that had to begin by an instant, and for which nothing explains that it
// has not begun.
func (l *loop) findOverdue(by time.Time) (err error) {
	first, n, scanned := "", 0, 0
	for name, e := range l.entries {
		if scanned++; scanned > maxScanned {
			break
		}
		if e.machine.IsOverdue(by) {
			n++
			first = name
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("scheduler: %d of %d jobs have ticks that have not begun, and nothing explains that, such as %q: %w",
		n, len(l.entries), first, election.ErrRestart)
}

// noteLacked notes the jobs of this process that the leader does not have.
func (s *Scheduler) noteLacked(ctx context.Context, names []string, of int) {
	var err error
	if len(names) > 0 {
		leader, problem := s.elector.Leader(ctx)
		if problem == nil && leader.ID != s.elector.Identity() {
			err = fmt.Errorf("scheduler: %s leads, and does not have %d of the %d jobs of this process, which so never run: %s: "+
				"give all replicas the same jobs, and other services an election of another name",
				leader.ID, len(names), of, firstOf(names))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lacked = troubleOf(s.lacked, err)
}
