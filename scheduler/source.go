package scheduler

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// A source is itself a job, whose runs load it. So a load has what every run has: a timeout, retries, a history, hooks, a place on the page,
// requests from any replica. Its jobs are those of one term: the leader adds them when it has loaded them, and followers have none.

const (
	defaultEvery = time.Minute
	// keepGone is how long the nodes keep what they know of a job that its source does not have any more.
	keepGone = 24 * time.Hour
	// maxForgotten bounds how many of them one load forgets: with a node that does not answer, each takes a node timeout.
	maxForgotten = 100
	// maxRefused bounds the bad rows that an error names.
	maxRefused = 10
)

// Source is a set of jobs that comes from elsewhere, such as the rows of a table. The leader loads it when its term begins, and again and
// again. See the part Sources of the package's documentation.
type Source struct {
	// Name identifies the source on every replica. It is that of a job whose runs are the loads, and which is shown with the others. The
	// names of the source's jobs begin with it and a slash: the row "acme" of the source "tenants" is the job "tenants/acme".
	Name string
	// Load returns all jobs of the source, in any order. Their names are without that of the source. It may return the same jobs with
	// other functions: the next attempt of a run calls the Run that was loaded last. It must return soon after its context has ended,
	// which happens after Every, and when the leader is asked to stop. Like a run that goes on, it holds up the end of the term otherwise.
	Load func(ctx context.Context) ([]Job, error)
	// Every is the time between two loads, and also how long one may take: a number of whole seconds; 0 is one minute.
	Every time.Duration
}

// source is a Source that was added.
type source struct {
	Source
	busy  chan struct{}        // full while Load is called
	swept *loop                // of the newest term that has looked for jobs that are gone; guarded by busy
	gone  map[string]time.Time // jobs that the source does not have any more, with the time, by the nodes' clocks; guarded by Scheduler.mu
}

// AddSource adds a source, on every replica. The error names every problem. It wraps [ErrName] if the name is bad or taken, or if a job
// has a name that begins with it and a slash.
func (s *Scheduler) AddSource(src Source) error {
	_, file, line, _ := runtime.Caller(1)
	if src.Every == 0 {
		src.Every = defaultEvery
	}
	added := &source{Source: src, busy: make(chan struct{}, 1), gone: make(map[string]time.Time)}
	j, err := newJob(Job{
		Name: src.Name, Spec: "@every " + src.Every.String(), Run: func(ctx context.Context, _ Run) error { return s.load(ctx, added) },
		Timeout: src.Every, Retry: Retry{Times: maxRetries},
		Overlap: Allow, // a load that hangs in a process that no longer leads must not hold up the leader's
	}, fmt.Sprintf("%s:%d", file, line), time.UTC)
	problems := []error{err}
	if src.Load == nil {
		problems = append(problems, fmt.Errorf("scheduler: source %q: Load is nil", src.Name))
	}
	j.call, j.loads, j.label = s.wrap(j.Run), added, fmt.Sprintf("source %q", src.Name)
	return s.add([]*job{j}, slices.DeleteFunc(problems, func(err error) bool { return err == nil }))
}

// Refresh makes the leader load a source now, after a change of its rows. Any replica that has the source may call it. It is
// [Scheduler.Trigger] of the source's job, so [Scheduler.TriggerAndWait] waits for the load too. The error is [ErrUnknownJob] if this
// process has no such source. The others are those of Trigger.
func (s *Scheduler) Refresh(ctx context.Context, source string, opts ...ChangeOption) error {
	if j := s.own(source); j == nil || j.loads == nil {
		return fmt.Errorf("%w: %q is no source of this process", ErrUnknownJob, source)
	}
	return s.Trigger(ctx, source, opts...)
}

// sourceOfLocked returns the source whose jobs have such names, or nil. The caller holds mu.
func (s *Scheduler) sourceOfLocked(job string) *source {
	for i := range job {
		if job[i] == '/' && s.jobs[job[:i]] != nil && s.jobs[job[:i]].loads != nil {
			return s.jobs[job[:i]].loads
		}
	}
	return nil
}

// isSourced reports whether a source of this process has jobs with such names.
func (s *Scheduler) isSourced(job string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sourceOfLocked(job) != nil
}

// sources returns the sources of this process.
func (s *Scheduler) sources() (all []*source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		if j.loads != nil {
			all = append(all, j.loads)
		}
	}
	return all
}

// checkSourceLocked returns an error if somebody may take a job for one of a source. The caller holds mu.
func (s *Scheduler) checkSourceLocked(j *job) error {
	if src := s.sourceOfLocked(j.Name); src != nil {
		return fmt.Errorf("%w: %q, added at %s, could be a row of the source %q", ErrName, j.Name, j.where, src.Name)
	}
	for name, other := range s.jobs {
		if j.loads != nil && strings.HasPrefix(name, j.Name+"/") {
			return fmt.Errorf("%w: %q, added at %s, could be a row of the source %q, added at %s", ErrName, name, other.where, j.Name, j.where)
		}
	}
	return nil
}

// load is the Run of a source's job. It makes the rows the jobs of this term.
func (s *Scheduler) load(ctx context.Context, src *source) error {
	l := s.newestLoop() // this run's: its term waits for it
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.stopping, func() { cancel(context.Cause(l.stopping)) })()
	select {
	case src.busy <- struct{}{}:
		defer func() { <-src.busy }()
	case <-ctx.Done():
		return fmt.Errorf("an earlier load has not returned, although its time was over: %w", context.Cause(ctx))
	}
	rows, err := src.Load(ctx)
	if err == nil {
		err = context.Cause(ctx) // it may be the state of long ago
	}
	if err != nil {
		return fmt.Errorf("the jobs are as they were: %w", err)
	}
	jobs, refused, problems := s.readRows(src, rows)
	s.replace(src, jobs)
	l.inbox.post(func() { l.loaded(src) })
	if src.swept != l && l.sweep(ctx, src, jobs) == nil {
		src.swept = l
	}
	s.forgetGone(ctx, src)
	if refused == 0 {
		return nil
	}
	err = errors.Join(problems[:min(len(problems), maxRefused)]...)
	return Permanent(fmt.Errorf("%d of %d rows are refused, and leave their jobs as they were; the others apply: %w", refused, len(rows), err))
}

// readRows returns the jobs of rows, by name, with nil for a bad row. It returns how many are bad, and why, once for each name.
func (s *Scheduler) readRows(src *source, rows []Job) (jobs map[string]*job, refused int, problems []error) {
	times := make(map[string]int, len(rows))
	for i := range rows {
		times[rows[i].Name]++
	}
	jobs = make(map[string]*job, len(rows))
	for _, row := range rows {
		base := row.Name
		row.Name = src.Name + "/" + base
		present := s.own(row.Name)
		j, err := present, error(nil)
		switch {
		case base == "":
			err = fmt.Errorf("%w: a row has no name", ErrName)
		case times[base] > 1:
			err = fmt.Errorf("%w: %d rows have the name %q", ErrName, times[base], base)
		case present == nil || row.Run == nil || !areAlike(present.Job, row):
			j, err = newJob(row, fmt.Sprintf("source %q", src.Name), s.location)
		}
		if err != nil {
			refused++
			if _, is := jobs[row.Name]; !is {
				problems = append(problems, err)
			}
			jobs[row.Name] = nil
			continue
		}
		if j != present {
			j.from, j.Run = src, nil
			j.call = s.wrap(func(ctx context.Context, run Run) error { return (*j.newest.Load())(ctx, run) })
		}
		j.newest.Store(&row.Run)
		jobs[row.Name] = j
	}
	return jobs, refused, problems
}

// areAlike reports whether two jobs differ in their functions alone.
func areAlike(a, b Job) bool {
	if (a.Schedule == nil) != (b.Schedule == nil) {
		return false
	}
	a.CatchUp, b.CatchUp = a.CatchUp.orDefault(), b.CatchUp.orDefault()
	a.Run, b.Run, a.Schedule, b.Schedule = nil, nil, nil, nil // the spec stands for the schedule
	return reflect.DeepEqual(a, b)
}

// replace makes jobs the jobs of a source. A nil one leaves the job of that name as it is.
func (s *Scheduler) replace(src *source, jobs map[string]*job) {
	now := s.nodesNow()
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, j := range s.jobs {
		if _, is := jobs[name]; !is && j.from == src {
			s.removeLocked(name)
			src.gone[name] = now
		}
	}
	for name, j := range jobs {
		delete(src.gone, name)
		if j != nil && s.jobs[name] != j {
			s.jobs[name] = j
			s.changedLocked(name)
		}
	}
}

// dropSources drops the jobs of sources at the end of a term. The next one starts with those that are loaded then.
func (s *Scheduler) dropSources() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, j := range s.jobs {
		if j.from != nil {
			delete(s.jobs, name)
		}
	}
}

// nodesNow returns the time by the nodes' clocks, or of this process if they are not known.
func (s *Scheduler) nodesNow() time.Time {
	if now, ok := s.elector.Locker().Time(); ok {
		return now
	}
	return time.Now()
}

// firstLoad returns a trigger with which a source's job is loaded at once.
func (l *loop) firstLoad(e *entry, now time.Time) jobmachine.Asked {
	state := e.machine.State()
	return jobmachine.Asked{Now: now, Request: jobstore.Request{Verb: jobstore.ToTrigger, Setting: jobstore.Setting{
		Mark:   jobstore.Mark{Version: max(now.UnixMicro(), state.Manual.Version+1), ID: l.id[:6]},
		Origin: jobstore.Origin{From: l.s.elector.Identity(), Why: "the first load of a term"},
	}}}
}

// loaded takes over what a load has changed.
func (l *loop) loaded(src *source) {
	l.sync()
	for _, e := range l.sources {
		e.unloaded = e.unloaded && e.job.loads != src
	}
}

// hasLoaded reports whether all sources have been loaded in this term. Until then nobody can tell which jobs this leader has.
func (l *loop) hasLoaded() bool {
	return !slices.ContainsFunc(l.sources, func(e *entry) bool { return e.unloaded })
}

// whyUnloaded returns which source cannot be loaded, or has bad rows.
func (l *loop) whyUnloaded() error {
	for _, e := range l.sources {
		state, cause := e.machine.State(), errors.New("its first load has not returned")
		if state.Failures > 0 {
			cause = errors.New(state.Last.Err)
		}
		switch {
		case e.unloaded:
			return fmt.Errorf("scheduler: this process leads, and the jobs of the source %q do not run before it is loaded: %w", e.job.Name, cause)
		case state.Failures > 0:
			return fmt.Errorf("scheduler: the source %q: its last load has failed: %w", e.job.Name, cause)
		}
	}
	return nil
}

// stored calls fn with what the nodes know of each of a source's jobs, and the time by their clocks. It skips what cannot be read.
func (s *Scheduler) stored(ctx context.Context, src *source, fn func(v *jobstore.View, now time.Time)) error {
	prefix := src.Name + "/"
	for after := prefix; after != ""; {
		page, err := s.store.Page(ctx, after, jobstore.MaxJobs)
		if err != nil {
			return err
		}
		views := page.Views()
		after = page.Next
		for i := range views {
			if !strings.HasPrefix(views[i].Job, prefix) {
				return nil
			}
			if views[i].Err == nil {
				fn(&views[i], page.Now)
			}
		}
	}
	return nil
}

// sweep finds the jobs that earlier leaders had and the source does not have any more. This leader removes them.
func (l *loop) sweep(ctx context.Context, src *source, jobs map[string]*job) error {
	var found []*job
	err := l.s.stored(ctx, src, func(v *jobstore.View, _ time.Time) {
		if _, is := jobs[v.Job]; is {
			return
		}
		j := &job{Job: Job{Name: v.Job}, schedule: never, plan: v.State.Plan, from: src}
		j.machine = jobmachine.Job{Name: v.Job, Plan: v.State.Plan, Schedule: never}
		j.removed.Store(true)
		found = append(found, j)
	})
	l.inbox.post(func() {
		for _, j := range found {
			if l.entries[j.Name] == nil && !l.drained {
				l.enter(j)
			}
		}
	})
	return err
}

// remove removes a job that the source does not have any more, once its state was read.
func (l *loop) remove(e *entry, now time.Time) {
	if state := e.machine.State(); state.Removed {
		now = state.Mark
	}
	l.s.mu.Lock()
	if l.s.jobs[e.job.Name] == nil {
		e.job.from.gone[e.job.Name] = now
	}
	l.s.mu.Unlock()
	l.advance(e, jobmachine.Removed{})
}

// forgetGone makes the nodes forget jobs that the source has not had for a day. Those that they cannot forget now come again.
func (s *Scheduler) forgetGone(ctx context.Context, src *source) {
	before := s.nodesNow().Add(-keepGone)
	s.mu.Lock()
	var names []string
	for name, at := range src.gone {
		if len(names) < maxForgotten && at.Before(before) {
			names = append(names, name)
		}
	}
	s.mu.Unlock()
	for _, name := range names {
		if err := s.Forget(ctx, name); err != nil {
			continue
		}
		s.log.Info("forgot a job that its source has not had for a day", zap.String("job", name))
		s.mu.Lock()
		delete(src.gone, name)
		s.mu.Unlock()
	}
}
