package scheduler

import (
	"context"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/retry"
)

// A process remembers what the nodes knew of its jobs. If all of them lose a job, or come back with older files, and this
// process leads next, it goes on from that: the job stays paused, and ticks whose outcome is lost are recorded.

const (
	// followEvery is how old that may be in a process that does not lead.
	followEvery = maxPoll
	// maxFollowed bounds the jobs that are remembered, and thereby memory and traffic.
	maxFollowed = 10_000
)

// follow reads this process's jobs from time to time while it does not lead. It ends with ctx.
func (s *Scheduler) follow(ctx context.Context) {
	for pause := s.pollEvery(); retry.Sleep(ctx, retry.Backoff{Min: pause, Max: pause}.After(1)) == nil; pause = followEvery {
		if !s.elector.IsLeader() {
			s.recallFrom(ctx)
		} else {
			s.noteLacked(ctx, nil, nil, 0)
		}
	}
}

// recallFrom reads this process's jobs from the nodes, and notes those that the leader does not have. What cannot be read stays as
// it was.
func (s *Scheduler) recallFrom(ctx context.Context) {
	s.mu.Lock()
	names := []string{jobstore.AllJobs}
	for name := range s.jobs {
		names = append(names, name)
	}
	sources := slices.Clone(s.sources)
	s.mu.Unlock()
	slices.Sort(names)
	names = names[:min(len(names), maxFollowed)]
	stored := make(map[string]bool, len(names)) // by the leader
	var late []string
	for some := range slices.Chunk(names, jobstore.MaxJobs) {
		views, now, err := s.store.Views(ctx, some...)
		if err != nil {
			return
		}
		for i := range views {
			v := &views[i]
			stored[v.Job] = v.Err != nil || !v.Left && !v.State.Removed
			if v.Err == nil {
				s.see(v, now)
			}
			if stored[v.Job] && v.Job != jobstore.AllJobs && s.statusOf(v, "somebody", now.Add(-overdueAfter)).isIgnored {
				late = append(late, v.Job)
			}
		}
	}
	n := len(names)
	for _, src := range sources { // a process has their jobs only while it leads
		for v, now := range s.stored(ctx, src) {
			if n++; n > maxFollowed {
				break
			}
			s.see(v, now)
		}
	}
	lacked := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return stored[name] || name == jobstore.AllJobs })
	s.noteLacked(ctx, lacked, late, len(names)-1)
}

// seen is what the nodes knew of a job.
type seen struct {
	view *jobstore.View
	now  time.Time // by the nodes' clocks, when it was read
	at   time.Time // the same by the clock of this process
}

// isOlder reports whether a view is from before what was seen. After a loss of data, ballots may be smaller than before it, if clocks
// were set back in between.
func (s *seen) isOlder(v *jobstore.View) bool {
	before, present := &s.view.State, &v.State
	return s.view.At.IsAfter(v.At) && !present.Since.After(before.Since) && !present.Lost.After(before.Lost)
}

// see remembers what the nodes know of a job, now by their clocks.
func (s *Scheduler) see(v *jobstore.View, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, is := s.seen[v.Job]
	if is && before.isOlder(v) {
		return
	}
	isSourced := s.sourceOfLocked(v.Job) != nil
	switch {
	case isSourced && v.State.Removed:
		delete(s.seen, v.Job)
	case (isSourced || s.jobs[v.Job] != nil || v.Job == jobstore.AllJobs) && (is || len(s.seen) < maxFollowed):
		s.seen[v.Job] = seen{v, now, time.Now()}
	}
}

// recall makes the basis of a job that all nodes have lost, at least in part, from what this process knew of it. It returns
// false if that is nothing.
func (l *loop) recall(e *entry, b *jobstore.Basis, now time.Time) bool {
	if v := e.view(); v != nil { // nobody else has opened a tick since
		return b.Recall(v, now, v.State.Mark)
	}
	l.s.mu.Lock()
	known, is := l.s.seen[e.job.Name]
	l.s.mu.Unlock()
	return is && b.Recall(known.view, now, known.now.Add(time.Since(known.at)))
}

// view returns what this term knows of a job on the nodes, or nil if that is nothing.
func (e *entry) view() *jobstore.View {
	at := e.machine.At()
	if at.Ballot == "" {
		return nil
	}
	return &jobstore.View{Job: e.job.Name, At: at, State: e.machine.State()}
}

// keep remembers the jobs of a term.
func (l *loop) keep() {
	now := l.clock.now()
	for _, e := range l.entries {
		if v := e.view(); v != nil {
			l.s.see(v, now)
		}
	}
}
