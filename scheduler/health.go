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

var errUnanswered = errors.New("they have not answered yet")

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
	why := l.whyIdle()
	idle := l.idle.Load().Next(why)
	switch {
	case why == nil:
		l.past = nil
	case l.past != nil && !errors.Is(why, errUnanswered): // terms may be too short to find it out again
		idle.Since = l.past.Since
	}
	l.idle.Store(idle)
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
		return stuck(of, "serve it", errUnanswered)
	case b.Ballot == "" || b.failures > 0:
		return stuck(of, "serve it", b.problem)
	case l.prepares.failures > 0:
		return stuck(l.prepares.late, "return the state of these jobs", cmp.Or(l.prepares.problem, errUnsure))
	case !l.hasPolled() && l.polls.problem != nil:
		return stuck(of, "list what people want of these jobs", l.polls.problem)
	case !l.writes.failed.IsZero():
		return stuck(len(l.writes.jobs), "store the state of these jobs", l.writes.problem)
	}
	return cmp.Or(l.overdue, l.whyUnloaded()) // a restart may help with the first one
}

// findOverdue returns an error that names a job with a tick that had to begin by an instant, and for which nothing explains that it
// has not begun, or a job that has no ticks any more because its Schedule has failed. It looks again at the job that it named last,
// since it may not get to it otherwise.
func (l *loop) findOverdue(by time.Time) (err error) {
	var late, failed *entry
	n, scanned := 0, 0
	look := func(e *entry) {
		if e.job.failure() != nil {
			failed = e
		}
		if e.machine.IsOverdue(by) {
			n++
			late = e
		}
	}
	named := l.named
	if named != nil && l.entries[named.job.Name] == named {
		look(named)
	}
	for _, e := range l.entries {
		if scanned++; scanned > maxScanned {
			break
		}
		if e != named {
			look(e)
		}
	}
	l.named = cmp.Or(late, failed)
	switch {
	case late != nil:
		return fmt.Errorf("scheduler: %d of %d jobs have ticks that have not begun, and nothing explains that, such as %q: %w",
			n, len(l.entries)-1, late.job.Name, election.ErrRestart)
	case failed != nil:
		return fmt.Errorf("scheduler: this process leads the job %q, and it has no ticks any more: %w", failed.job.Name, failed.job.failure())
	}
	return nil
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
