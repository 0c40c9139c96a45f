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
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/signal"
)

// Scheduler runs jobs while its process leads. Its methods are safe for concurrent use, even from inside runs and hooks.
type Scheduler struct {
	elector *election.Elector
	parts   inside.Parts // of its Locker
	store   *jobstore.Store
	options
	changed signal.Signal // wakes the loop to apply changes of jobs
	maxSeq  int           // take a new ballot after that many writes; writes until then still have numbers. Tests set it lower

	mu       sync.Mutex // guards the fields below
	jobs     map[string]*job
	sources  []*source                        // that were added
	changes  map[string]bool                  // jobs added or removed since the last takeChanges
	loop     *loop                            // of the newest term
	seen     map[string]seen                  // what this process last knew of its jobs on the nodes
	unstored map[string][]jobmachine.Returned // by job, ends of runs that no term has stored
	stop     func()                           // removes the callback from the elector; set when the first job is added
	closed   time.Time                        // when Shutdown was called; zero: it was not
	lacked   *inside.Trouble                  // jobs that another leader does not have
}

// New returns a Scheduler that runs its jobs in the terms of elector, including one under way. It starts and stops with
// elector.Run; [Scheduler.Shutdown] ends it earlier. It registers its callback with elector when the first job is added:
// without a job it gives a leader nothing to do.
//
// An Elector has one Scheduler, even after its Shutdown. New returns an error that says where the first one was made: two of
// them in one term would each take the runs of the other for those of an earlier leader.
func New(elector *election.Elector, opts ...Option) (*Scheduler, error) {
	if elector == nil {
		return nil, errors.New("scheduler: the elector is nil")
	}
	s := &Scheduler{
		elector:  elector,
		parts:    inside.Of(elector.Locker()),
		jobs:     make(map[string]*job),
		seen:     make(map[string]seen),
		unstored: make(map[string][]jobmachine.Returned),
		changed:  signal.New(),
		maxSeq:   jobstore.MaxSeq / 2,
	}
	for i, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("scheduler: option %d of %d is nil", i+1, len(opts))
		}
		opt(&s.options)
	}
	if slices.ContainsFunc(s.middleware, func(wrap Middleware) bool { return wrap == nil }) {
		return nil, errors.New("scheduler: a middleware is nil")
	}
	if s.log == nil {
		s.log = zap.NewNop()
	}
	s.log = s.log.With(zap.String("election", elector.Name())).WithOptions(zap.AddStacktrace(zapcore.FatalLevel + 1)) // a stack in this package tells nothing
	locker := elector.Locker()
	settings := locker.Settings()
	s.store = jobstore.New(jobstore.Config{
		Quorum: s.parts.Quorum, Prefix: settings.KeyPrefix, Election: elector.Name(), List: s.parts.List,
		Unseen: settings.UnseenRestarts,
	})
	if first := inside.Join(elector, inside.Partner{Where: callLine(), Beside: s.follow, Problems: s.problems}); first != "" {
		return nil, fmt.Errorf("scheduler: the elector of %q has a Scheduler already, made at %s: add all jobs to that one",
			elector.Name(), first)
	}
	return s, nil
}

// Add adds jobs, which tick from now on. If a job is bad, it adds none of them, and the error names every problem of every
// job. It wraps [ErrName] if a name is bad or taken, and [ErrSpec] if a spec is bad.
func (s *Scheduler) Add(jobs ...Job) error { return s.addAt(callLine(), jobs) }

// callLine returns where the function that calls it was called, as file and line.
func callLine() string {
	_, file, line, _ := runtime.Caller(2)
	return fmt.Sprintf("%s:%d", file, line)
}

func (s *Scheduler) addAt(where string, jobs []Job) error {
	checked := make([]*job, len(jobs))
	var problems []error
	for i, j := range jobs {
		where := where
		if len(jobs) > 1 {
			where += fmt.Sprintf(" (job %d of %d)", i+1, len(jobs))
		}
		var err error
		if checked[i], err = s.newJob(j, where); err != nil {
			problems = append(problems, err)
		}
	}
	return s.add(checked, problems)
}

// newJob checks a job, and puts its Run into the middleware.
func (s *Scheduler) newJob(of Job, where string) (*job, error) {
	j, err := newJob(of, where, s.location)
	if g, ok := j.schedule.(*given); ok {
		g.log = s.log.With(zap.String("job", j.Name))
	}
	j.run.Store(&j.Run)
	j.call = func(ctx context.Context, run Run) error { return (*j.run.Load())(ctx, run) }
	for _, wrap := range slices.Backward(s.middleware) {
		j.call = wrap(j.call)
	}
	if j.call == nil && err == nil {
		err = fmt.Errorf("scheduler: job %q at %s: a middleware has returned nil", j.Name, where)
	}
	return j, err
}

// add adds jobs unless there are problems with them.
func (s *Scheduler) add(jobs []*job, problems []error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed.IsZero() {
		return errShutdown
	}
	added := make(map[string]*job, len(jobs))
	for _, j := range jobs {
		if first := cmp.Or(s.jobs[j.Name], added[j.Name]); first != nil {
			problems = append(problems, fmt.Errorf("%w: %q is added at %s and again at %s",
				ErrName, j.Name, first.where, j.where))
			continue
		}
		if err := s.checkSourceLocked(j); err != nil {
			problems = append(problems, err)
		}
		added[j.Name] = j
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	for name, j := range added {
		if j.loads != nil {
			s.sources = append(s.sources, j.loads)
		}
		s.jobs[name] = j
		s.changedLocked(name)
	}
	if s.stop == nil && len(s.jobs) > 0 {
		s.stop = s.elector.OnLeader(s.lead)
	}
	return nil
}

// Remove removes a job: no run of it starts any more, not even for a tick that waits in its queue. A run under way goes
// on, and counts for the overlap of a job added under the same name. The error is [ErrUnknownJob] if this Scheduler has no
// job of that name. A source, and the jobs that come from one, cannot be removed.
func (s *Scheduler) Remove(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch j, src := s.jobs[name], s.sourceOfLocked(name); {
	case j == nil:
		return fmt.Errorf("%w: %q", ErrUnknownJob, name)
	case j.loads != nil:
		return fmt.Errorf("scheduler: remove: %q is a source", name)
	case src != nil:
		return fmt.Errorf("scheduler: remove: %q comes from the source %q: delete its row there", name, src.Name)
	}
	s.removeLocked(name)
	return nil
}

// removeLocked removes a job. The caller holds mu.
func (s *Scheduler) removeLocked(name string) {
	s.jobs[name].removed.Store(true) // its starts may be stored before the loop applies the change
	delete(s.jobs, name)
	delete(s.seen, name)
	s.changedLocked(name)
}

// changedLocked wakes the loop to apply a change of a job. The caller holds mu.
func (s *Scheduler) changedLocked(name string) {
	if s.loop == nil {
		return // the next loop starts with all jobs
	}
	s.changes[name] = true
	s.changed.Set()
}

// enter makes l the loop of the newest term, which starts with all jobs. It returns false after Shutdown.
func (s *Scheduler) enter(l *loop) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed.IsZero() {
		return false
	}
	if before := s.loop; before != nil && time.Since(before.ended) < lackedAfter {
		l.past = before.idle.Load()
	}
	s.loop, s.lacked = l, nil // what an earlier leader did not have, this one has
	s.changes = make(map[string]bool, len(s.jobs))
	for name := range s.jobs {
		s.changes[name] = true
	}
	return true
}

// leave ends the newest term, when its runs have returned. The next one starts without jobs of sources, until they are loaded.
func (s *Scheduler) leave(l *loop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.ended = time.Now()
	for _, src := range s.sources {
		for name := range src.rows {
			delete(s.jobs, name)
		}
		src.rows = nil
	}
}

// takeChanges returns so many of the jobs that were added or removed since the last call, with nil for a removed one, and
// whether there are more.
func (s *Scheduler) takeChanges(most int) (changed map[string]*job, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = make(map[string]*job, min(most, len(s.changes)))
	for name := range s.changes {
		if more = len(changed) == most; more {
			s.changed.Set()
			break
		}
		changed[name] = s.jobs[name]
		delete(s.changes, name)
	}
	return changed, more
}

// Shutdown stops the ticks of this process for good and waits until the runs under way have returned and their ends are
// stored. If this process leads, it then resigns, so that another replica goes on with the ticks.
//
// If ctx is done first, Shutdown resigns at once. It returns an error that wraps the cause of ctx and names the runs still
// under way, or says that ends are not stored yet. Those runs go on until they return or the elector's drain timeout
// cancels them. The lease is not released before they have returned, but Shutdown does not wait for that. It may be called
// more than once.
//
// No job ticks anywhere while Shutdown waits. So a ctx without a deadline is done after the elector's drain timeout. And from
// a run, with the context that the run got, Shutdown resigns and returns an error at once: it would wait for itself.
//
// Resigning ends the work of the elector's other callbacks too. The elector may campaign again after its cooldown. If it
// wins, no job ticks anywhere until that term ends, so end its Run as well.
func (s *Scheduler) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if s.closed.IsZero() {
		s.closed = time.Now()
	}
	l, stop := s.loop, s.stop
	s.mu.Unlock()

	if stop != nil {
		stop()
	}
	if l == nil {
		return nil
	}
	defer l.term.Resign(errShutdown) // does nothing if the term has ended
	if err := l.runner.notFromInside(ctx, ""); err != nil {
		return fmt.Errorf("scheduler: no ticks come any more, but Shutdown does not wait: %w", err)
	}
	if _, ok := ctx.Deadline(); !ok { // no job ticks anywhere meanwhile
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.elector.Settings().DrainTimeout, errNoDeadline)
		defer cancel()
	}
	if l.waitDone(ctx) {
		return nil
	}
	runs := l.runner.underway()
	if len(runs) == 0 {
		return fmt.Errorf("scheduler: all runs have returned, but not all of their ends are stored: %w", context.Cause(ctx))
	}
	return fmt.Errorf("scheduler: %d runs are still under way: %s: %w",
		len(runs), strings.Join(runs, ", "), context.Cause(ctx))
}
