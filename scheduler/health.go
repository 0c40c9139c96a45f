package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/inside"
)

const (
	// overdueAfter is how late a tick is for which no reason is known before it counts as overdue.
	overdueAfter = time.Minute
	// lackedAfter is how long a leader may lack jobs of this process, as it does during a deploy that adds them.
	lackedAfter = followEvery
	// maxScanned bounds how many jobs are looked at in one go, which holds up ticks. Of more jobs, each look takes others.
	maxScanned = 10_000
)

// problems returns why jobs of this process do not run: see [inside.Partner].
func (s *Scheduler) problems() (all []inside.Trouble) {
	term, leads := s.elector.Term()
	s.mu.Lock()
	l, closed, lacked := s.loop, s.closed, s.lacked
	s.mu.Unlock()
	isOurs := leads && l != nil && l.term == term
	switch {
	case !leads:
		if lacked != nil && time.Since(lacked.Since) >= lackedAfter {
			return []inside.Trouble{*lacked}
		}
	case !closed.IsZero():
		err := fmt.Errorf("%w, and this process leads, so no job ticks anywhere: end its Elector.Run as well, or %w",
			errShutdown, election.ErrRestart)
		if isOurs && l.runner.count() > 0 {
			err = fmt.Errorf("%w: no job ticks anywhere while Shutdown waits for %s: give it less time", errShutdown,
				strings.Join(l.runner.underway(), ", "))
		}
		return []inside.Trouble{{Err: err, Since: latest(closed, term.Since())}}
	case isOurs:
		for _, t := range []*inside.Trouble{l.idle.Load(), l.runner.heldUp("")} {
			if t != nil {
				all = append(all, *t)
			}
		}
	}
	return all
}

// noteIdle notes why the leader starts nothing, or no longer why, and returns when to look again at the latest.
func (l *loop) noteIdle(now time.Time) time.Duration {
	if !time.Now().Before(l.scanAt) {
		l.scanAt = time.Now().Add(overdueAfter)
		l.overdue = l.findOverdue(now.Add(-overdueAfter))
		l.loadAgain(now)
	}
	l.idle.Store(l.idle.Load().Next(l.whyIdle()))
	return time.Until(l.scanAt)
}

// whyIdle returns why the leader does not run its jobs, or some of them.
func (l *loop) whyIdle() error {
	of := len(l.entries) - 1 // without the pause of all jobs
	stuck := func(jobs int, nodes string, err error) error {
		return fmt.Errorf("scheduler: this process leads, and %d of its %d jobs do not run: see to the nodes, too few of them %s: %w",
			min(jobs, of), of, nodes, err)
	}
	switch b := &l.ballot; {
	case b.Ballot == "" && b.problem == nil:
		return stuck(of, "serve it", errors.New("they have not answered yet"))
	case b.Ballot == "" || b.failures > 0:
		return stuck(of, "serve it", b.problem)
	case l.prepares.failures > 0:
		return stuck(l.prepares.late, "return the state of these jobs", cmp.Or(l.prepares.problem, errUnsure))
	case !l.writes.failed.IsZero():
		return stuck(len(l.writes.jobs), "store the state of these jobs", l.writes.problem)
	}
	return cmp.Or(l.overdue, l.whyUnloaded()) // a restart may help with the first one
}

// findOverdue returns an error that names a job with a tick that had to begin by an instant, and for which nothing explains that it
// has not begun, or a job that has no ticks any more because its Schedule has failed.
func (l *loop) findOverdue(by time.Time) (err error) {
	first, n, scanned := "", 0, 0
	var failed error
	for name, e := range l.entries {
		if scanned++; scanned > maxScanned {
			break
		}
		if err := e.job.failure(); err != nil {
			failed = fmt.Errorf("scheduler: this process leads the job %q, and it has no ticks any more: %w", name, err)
		}
		if e.machine.IsOverdue(by) {
			n++
			first = name
		}
	}
	if n == 0 {
		return failed
	}
	return fmt.Errorf("scheduler: %d of %d jobs have ticks that have not begun, and nothing explains that, such as %q: %w",
		n, len(l.entries)-1, first, election.ErrRestart)
}

// noteLacked notes the jobs of this process that the leader does not have, or else those whose ticks it does not start.
func (s *Scheduler) noteLacked(ctx context.Context, lacked, late []string, of int) {
	var err error
	what, names := "have", lacked
	if len(lacked) == 0 {
		what, names = "start the ticks of", late
	}
	if len(names) > 0 {
		leader, problem := s.elector.Leader(ctx)
		if problem == nil && leader.ID != s.elector.Identity() {
			err = fmt.Errorf("scheduler: %s leads, and does not %s %d of the %d jobs of this process, so they do not run: %s: "+
				"give all replicas the same jobs, and other services an election of another name",
				leader.ID, what, len(names), of, firstOf(names))
			if len(lacked) == 0 {
				err = fmt.Errorf("%w; or see what Elector.Check says there", err)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lacked = s.lacked.Next(err)
}
