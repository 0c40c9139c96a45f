package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// Scheduler runs jobs while its process leads. Its methods are safe for concurrent use, also from
// inside runs; except that Shutdown, there, waits for the run that calls it.
type Scheduler struct {
	elector    *election.Elector
	store      *jobstore.Store
	location   *time.Location
	log        *zap.Logger
	hooks      Hooks
	middleware []Middleware
	changed    chan struct{} // wakes the loop to apply changes of jobs; sends never block
	maxSeq     int           // calls to write under one ballot; those until the next one is taken have numbers too. Tests want less

	mu        sync.Mutex // guards the fields below
	jobs      map[string]*job
	changes   map[string]bool     // names of jobs that were added or removed since takeChanges was called
	loop      *loop               // of the newest term
	unstarted map[string][]string // by job: runs that the last term opened and did not start
	seen      map[string]bool     // jobs that this process has led with
	stop      func()              // ends the registration with the elector, which the first job makes
	closed    bool
}

// New makes a Scheduler that runs its jobs in the terms of elector, also in the one under way. It
// starts and stops with elector.Run; see [Scheduler.Shutdown] for an earlier end. It registers its
// callback with elector when it gets its first job: without one it gives a leader nothing to do.
func New(elector *election.Elector, opts ...Option) (*Scheduler, error) {
	if elector == nil {
		return nil, errors.New("scheduler: the elector is nil")
	}
	s := &Scheduler{
		elector: elector,
		jobs:    make(map[string]*job),
		seen:    make(map[string]bool),
		changed: make(chan struct{}, 1),
		maxSeq:  jobstore.MaxSeq / 2,
	}
	for _, opt := range opts {
		opt(s)
	}
	if slices.ContainsFunc(s.middleware, func(wrap Middleware) bool { return wrap == nil }) {
		return nil, errors.New("scheduler: a middleware is nil")
	}
	if s.log == nil {
		s.log = zap.NewNop()
	}
	s.log = s.log.With(zap.String("election", elector.Name())).WithOptions(zap.AddStacktrace(zapcore.FatalLevel + 1)) // ours says nothing
	locker := elector.Locker()
	settings := locker.Settings()
	if settings.MaxClockSkew > jobstore.MaxSkew {
		return nil, fmt.Errorf("scheduler: the nodes' clocks may be %v apart for the Locker (redlock.WithMaxClockSkew), and at most %v for jobs",
			settings.MaxClockSkew, jobstore.MaxSkew)
	}
	s.store = jobstore.New(jobstore.Config{
		Quorum: locker.Quorum(), Prefix: settings.KeyPrefix, Election: elector.Name(), List: locker.List(),
		Unseen: settings.UnseenRestarts,
	})
	return s, nil
}

// Add adds jobs: all of them or, with an error that has every problem of every job, none. They tick
// from now on. [ErrName]: a name is bad, or taken; [ErrSpec]: a spec is bad.
func (s *Scheduler) Add(jobs ...Job) error {
	_, file, line, _ := runtime.Caller(1)
	checked := make([]*job, len(jobs))
	var problems []error
	for i, j := range jobs {
		where := fmt.Sprintf("%s:%d", file, line)
		if len(jobs) > 1 {
			where += fmt.Sprintf(" (job %d of %d)", i+1, len(jobs))
		}
		var err error
		if checked[i], err = newJob(j, where, s.location); err != nil {
			problems = append(problems, err)
		}
		checked[i].call = j.Run
		for _, wrap := range slices.Backward(s.middleware) {
			checked[i].call = wrap(checked[i].call)
		}
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errShutdown
	}
	added := make(map[string]*job, len(jobs))
	for _, j := range checked {
		if first := cmp.Or(s.jobs[j.Name], added[j.Name]); first != nil {
			problems = append(problems, fmt.Errorf("%w: %q is added at %s and again at %s",
				ErrName, j.Name, first.where, j.where))
			continue
		}
		added[j.Name] = j
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	for name, j := range added {
		s.jobs[name] = j
		s.changedLocked(name)
	}
	if s.stop == nil && len(s.jobs) > 0 {
		s.stop = s.elector.OnLeader(s.lead)
	}
	return nil
}

// Remove takes a job out: no run of it starts any more, also not for a tick that waits in its
// queue. A run under way goes on, and counts for the overlap of a job added under the same name.
// [ErrUnknownJob]: there is none of that name.
func (s *Scheduler) Remove(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs[name] == nil {
		return fmt.Errorf("%w: %q", ErrUnknownJob, name)
	}
	s.jobs[name].removed.Store(true) // its starts may be stored before the loop applies the change
	delete(s.jobs, name)
	delete(s.seen, name)
	s.changedLocked(name)
	return nil
}

// changedLocked wakes the loop to apply a change of a job. The caller holds mu.
func (s *Scheduler) changedLocked(name string) {
	if s.loop == nil {
		return // the next one begins with all jobs
	}
	s.changes[name] = true
	select {
	case s.changed <- struct{}{}:
	default: // it wakes anyway
	}
}

// enter makes l the loop of the newest term, which begins with all jobs. It returns false after Shutdown.
func (s *Scheduler) enter(l *loop) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.loop = l
	s.changes = make(map[string]bool, len(s.jobs))
	for name := range s.jobs {
		s.changes[name] = true
	}
	return true
}

// takeChanges returns the jobs that have changed since the last call: nil for those that were removed.
func (s *Scheduler) takeChanges() map[string]*job {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := make(map[string]*job, len(s.changes))
	for name := range s.changes {
		changed[name] = s.jobs[name]
	}
	s.changes = make(map[string]bool)
	return changed
}

// takeUnstarted returns the runs of a job that the last term of this process opened and did not start.
func (s *Scheduler) takeUnstarted(job string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := s.unstarted[job]
	delete(s.unstarted, job)
	return ids
}

// hasSeen reports whether this process has led with a job before.
func (s *Scheduler) hasSeen(job string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[job]
}

func (s *Scheduler) see(job string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[job] = true
}

// Shutdown stops the ticks of this process for good, waits until the runs under way have returned and their ends are
// written, and then resigns if this process leads, so that another replica goes on with the ticks. If ctx is done first,
// it resigns then, and returns an error that names the runs, or says that ends are not written yet, and wraps the cause
// of ctx. Those runs go on until they return, or the elector's drain timeout cancels them. The lease is not released
// before they have returned, and Shutdown does not wait for that. It may be called more than once.
//
// Resigning ends the work of the elector's other callbacks too. Whether the elector campaigns again after its cooldown
// is up to [election.WithCallbackRequired]. With it, the elector follows while it has no other callback. Without it, the
// elector may win again; no job ticks anywhere then until that term ends, so end its Run as well. The same holds with
// the option if there are other callbacks.
func (s *Scheduler) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	l, stop := s.loop, s.stop
	s.mu.Unlock()

	if stop != nil {
		stop()
	}
	if l == nil {
		return nil
	}
	defer l.term.Resign(errShutdown) // does nothing if the term has ended
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-l.done: // both at once
		return nil
	default:
	}
	runs := l.runner.underway()
	if len(runs) == 0 {
		return fmt.Errorf("scheduler: all runs have returned, but not all of their ends are written: %w", context.Cause(ctx))
	}
	return fmt.Errorf("scheduler: %d runs are still under way: %s: %w",
		len(runs), strings.Join(runs, ", "), context.Cause(ctx))
}
