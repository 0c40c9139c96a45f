package scheduler

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// A source is itself a job, whose runs load it. So a load has what every run has: a timeout, retries, a history, hooks, a place
// on the page, requests from any replica. Its jobs are those of one term: the leader adds them when it has loaded them, and
// followers have none.

const (
	defaultEvery = time.Minute
	// maxRefused bounds the bad rows that an error names.
	maxRefused = 10
)

// Source is a set of jobs that comes from elsewhere, such as the rows of a table that customers change. Every replica adds
// the source ([Scheduler.AddSource]), and only the leader loads it: when its term begins, then every minute or so, and when
// somebody has called [Scheduler.Refresh], as after a change of a row. A row "acme" of the source "tenants" is the job
// "tenants/acme", and differs from other jobs only in where it comes from.
//
// The source is a job too, "tenants", whose runs are the loads. What is said of runs holds for loads: they have a
// history, hooks and a place on the page. While the source is paused, its jobs stay as they are, but for the first load of a
// term.
//
//   - Until the first load of a term has returned, the leader does not know which jobs it has. Ticks wait ([Status].Waiting
//     says "for its source"), and are then caught up with as CatchUp says. [Scheduler.Forget] deletes no job of the election
//     meanwhile.
//   - A load that returns an error, panics, or takes longer than Every leaves the jobs as they are. It is tried again after a
//     second, then after pauses that double, and with the next tick of the source. If that lasts for a minute,
//     [election.Elector.Check] says so.
//   - A load that ignores its context is under way until it returns. This process begins no second one beside it. Like any
//     other run, it is named while a term that ends waits for it, and the lease is not released before the drain timeout. The
//     next leader, in another process, does not wait for it.
//   - A bad row is refused: the run of the load fails, and its error names the row. Its job stays as it was, and all other rows
//     apply. The same goes for rows of one name. A leader that has only ever seen the bad row does not have the job.
//   - A row that is gone ends the ticks of its job at once. A run under way goes on, and is then not retried. The nodes forget
//     the job a day to 25 hours later. If the row is there again before, the job keeps its history and its pause, and ticks
//     that came meanwhile do not run.
//   - A row that has changed only in its Run is not a change of the job: the next attempt calls the new one. If the spec has
//     changed, see [Job].
type Source struct {
	// Name identifies the source on every replica. It is that of a job whose runs are the loads, and which is shown with the
	// others. The names of the source's jobs begin with it and a slash: the row "acme" of the source "tenants" is the job
	// "tenants/acme".
	Name string
	// Load returns all jobs of the source, in any order. Their names are without that of the source. It may return the same
	// jobs with other functions: the next attempt of a run calls the Run that was loaded last. It must return soon after its
	// context has ended, which happens after Every, and when the leader is asked to stop. Like a run that goes on, it holds up
	// the end of the term otherwise.
	Load func(ctx context.Context) ([]Job, error)
	// Every is the time between two loads, and also how long one may take: a number of whole seconds; 0 is one minute.
	Every time.Duration
}

// source is a Source that was added.
type source struct {
	Source
	prefix string         // of the names of its jobs
	busy   chan struct{}  // full while Load is called
	rows   map[string]row // by the names of the jobs, as they were loaded last in this term; guarded by Scheduler.mu
}

// AddSource adds a source, on every replica. The error names every problem. It wraps [ErrName] if the name is bad or taken, or
// if a job has a name that begins with it and a slash.
func (s *Scheduler) AddSource(src Source) error { return s.addSourceAt(callLine(), src) }

func (s *Scheduler) addSourceAt(where string, src Source) error {
	if src.Every == 0 {
		src.Every = defaultEvery
	}
	added := &source{Source: src, prefix: src.Name + "/", busy: make(chan struct{}, 1)}
	j, err := s.newJob(Job{
		Name: src.Name, Spec: "@every " + src.Every.String(), Run: func(ctx context.Context, _ Run) error { return s.load(ctx, added) },
		Timeout: src.Every, Retry: Retry{Times: maxRetries},
		Overlap: Allow, // a load that hangs in a process that no longer leads must not hold up the leader's
	}, where)
	problems := []error{err}
	if src.Load == nil {
		problems = append(problems, fmt.Errorf("scheduler: source %q: Load is nil", src.Name))
	}
	j.loads, j.label = added, fmt.Sprintf("source %q", src.Name)
	return s.add([]*job{j}, slices.DeleteFunc(problems, func(err error) bool { return err == nil }))
}

// Refresh makes the leader load a source now, after a change of its rows. Any replica that has the source may call it. It is
// [Scheduler.Trigger] of the source's job, so [Scheduler.TriggerAndWait] waits for the load too. The error is [ErrUnknownJob]
// if this process has no such source. The others are those of Trigger.
func (s *Scheduler) Refresh(ctx context.Context, source string, opts ...ChangeOption) error {
	if j := s.own(source); j == nil || j.loads == nil {
		return fmt.Errorf("%w: %q is no source of this process", ErrUnknownJob, source)
	}
	return s.Trigger(ctx, source, opts...)
}

// sourceOfLocked returns the source whose jobs have such names, or nil. The caller holds mu.
func (s *Scheduler) sourceOfLocked(job string) *source {
	for _, src := range s.sources {
		if strings.HasPrefix(job, src.prefix) {
			return src
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

// checkSourceLocked returns an error if somebody may take a job for one of a source. The caller holds mu.
func (s *Scheduler) checkSourceLocked(j *job) error {
	if src := s.sourceOfLocked(j.Name); src != nil {
		return fmt.Errorf("%w: %q, added at %s, could be a row of the source %q", ErrName, j.Name, j.where, src.Name)
	}
	for name, other := range s.jobs {
		if j.loads != nil && strings.HasPrefix(name, j.loads.prefix) {
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
		return fmt.Errorf("an earlier load has not returned: %w", context.Cause(ctx))
	}
	s.mu.Lock()
	before := src.rows
	s.mu.Unlock()
	loaded, err := src.Load(ctx)
	var rows map[string]row
	var bad []error
	if err == nil {
		rows, bad = s.readRows(src, before, loaded)
		err = s.replace(ctx, src, rows, changed(before, rows))
	}
	if err != nil {
		return fmt.Errorf("the jobs are as they were: %w", err)
	}
	for _, r := range rows {
		if r.job != nil {
			r.job.run.Store(&r.run)
		}
	}
	l.inbox.post(func() { l.loaded(src, rows) })
	if len(bad) == 0 {
		return nil
	}
	return Permanent(fmt.Errorf("%d of %d jobs are refused, and stay as they were; the others apply: %w", len(bad), len(rows),
		errors.Join(bad[:min(len(bad), maxRefused)]...)))
}

// row is what a load has returned of a job.
type row struct {
	*job // nil if it is bad, and always was in this term
	run  func(context.Context, Run) error
}

// readRows returns the rows that a load has returned, by the names of the jobs, and why some are bad. A bad row is as it was
// before, and a job that has changed in its Run alone stays the same.
func (s *Scheduler) readRows(src *source, before map[string]row, loaded []Job) (rows map[string]row, bad []error) {
	times := make(map[string]int, len(loaded))
	for i := range loaded {
		times[loaded[i].Name]++
	}
	rows = make(map[string]row, len(times))
	for _, of := range loaded {
		base := of.Name
		of.Name = src.prefix + base
		if _, is := rows[of.Name]; is { // the other rows of that name
			continue
		}
		r, err := row{before[of.Name].job, of.Run}, error(nil)
		switch {
		case base == "":
			err = fmt.Errorf("%w: a row has no name", ErrName)
		case times[base] > 1:
			err = fmt.Errorf("%w: %d rows have the name %q", ErrName, times[base], base)
		case r.job == nil || r.run == nil || !areAlike(r.Job, of):
			r.job, err = s.newJob(of, fmt.Sprintf("source %q", src.Name))
		}
		if err != nil {
			bad, r = append(bad, err), before[of.Name]
		}
		rows[of.Name] = r
	}
	return rows, bad
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

// changed returns the names of the jobs that are there, or gone, since the rows were others.
func changed(before, rows map[string]row) (names []string) {
	for name, r := range rows {
		if r.job != before[name].job {
			names = append(names, name)
		}
	}
	for name, r := range before {
		if _, is := rows[name]; !is && r.job != nil {
			names = append(names, name)
		}
	}
	return names
}

// replace makes rows those of a source, unless ctx has ended: they may be the state of long ago, and their term may be over.
func (s *Scheduler) replace(ctx context.Context, src *source, rows map[string]row, changed []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil { // with the lock: nothing is added after the term
		return context.Cause(ctx)
	}
	src.rows = rows
	for _, name := range changed {
		if j := rows[name].job; j != nil {
			s.jobs[name] = j
			s.changedLocked(name)
		} else {
			s.removeLocked(name)
		}
	}
	return nil
}
