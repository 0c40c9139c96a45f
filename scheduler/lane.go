package scheduler

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// lane is what one name has under way.
type lane struct {
	runs    []*active // more than one only where ticks are allowed beside each other
	waiting pending   // starts when they have returned; without a job: nothing
}

// pending is a tick that is to run.
type pending struct {
	job  *job
	tick time.Time
}

// active is a run under way.
type active struct {
	Run
	job    *job
	since  time.Time
	cancel context.CancelCauseFunc
}

// enterLocked starts a tick, has it wait or drops it, as the overlap of its job says. It returns
// what is dropped, and why.
func (l *loop) enterLocked(p pending) (dropped pending, reason string) {
	if reason = l.refusalLocked(p); reason != "" {
		return p, reason
	}
	lane := l.lanes[p.job.Name]
	if lane == nil || p.job.Overlap == Allow {
		l.startLocked(p)
		return pending{}, ""
	}
	if p.job.Overlap == Skip {
		return p, "a run is under way"
	}
	if p.job.Overlap == Replace {
		for _, r := range lane.runs {
			r.cancel(ErrReplaced)
		}
	}
	dropped, lane.waiting = lane.waiting, p
	if dropped.job != nil {
		reason = "a newer tick has taken its place"
	}
	return dropped, reason
}

// refusalLocked is why a tick may not run now; empty if it may.
func (l *loop) refusalLocked(p pending) string {
	switch {
	case l.s.jobs[p.job.Name] != p.job:
		return "the job was removed"
	case l.draining.Err() != nil:
		return "the leader drains"
	case !l.term.Valid():
		return "the term is over"
	}
	return ""
}

// startLocked starts a run. Its goroutine ends when the job's Run returns; it is told to by the
// run's context, and lead waits for it.
func (l *loop) startLocked(p pending) {
	// Not the callback's context: a run may be finished while the leader drains.
	ctx, cancel := context.WithCancelCause(l.term.Context())
	r := &active{
		Run: Run{Job: p.job.Name, Tick: p.tick, Token: l.term.Token()},
		job: p.job, since: time.Now(), cancel: cancel,
	}
	if l.lanes[r.Job] == nil {
		l.lanes[r.Job] = &lane{}
	}
	l.lanes[r.Job].runs = append(l.lanes[r.Job].runs, r)
	l.runs.Go(func() { l.do(ctx, r) })
}

// leave takes a run that has returned out of its lane, and starts what waits for it.
func (l *loop) leave(r *active) {
	l.s.mu.Lock()
	lane := l.lanes[r.Job]
	lane.runs = slices.DeleteFunc(lane.runs, func(other *active) bool { return other == r })
	waiting, reason := lane.waiting, ""
	if len(lane.runs) == 0 {
		delete(l.lanes, r.Job)
		if waiting.job != nil {
			if reason = l.refusalLocked(waiting); reason == "" {
				l.startLocked(waiting)
			}
		}
	}
	l.s.mu.Unlock()
	l.logNotRun(waiting, reason)
}

// underway describes the runs that have not returned.
func (l *loop) underway() []string {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	var runs []string
	for _, lane := range l.lanes {
		for _, r := range lane.runs {
			age := time.Since(r.since).Round(time.Millisecond)
			runs = append(runs, fmt.Sprintf("%s for %v", r.Key(), age))
		}
	}
	slices.Sort(runs)
	return runs
}
