package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/retry"
)

// awaitBackoff spaces the polls for the end of a triggered run.
var awaitBackoff = retry.Backoff{Min: 100 * time.Millisecond, Max: 2 * time.Second}

// TriggerAndWait calls [Scheduler.Trigger], waits until the run has ended, and returns its record. Any replica may call it. The
// record's State is [StateOK], [StateFailed] or [StateLost], or, if it did not run, [StateMissed] or [StateSkipped].
//
// An error says that the trigger could not be stored, that the job was removed meanwhile ([ErrUnknownJob]), or that ctx is done. If ctx
// is done, the run is not stopped, and the record has what was known: its State may be [StateRunning] or [StateInterrupted], or empty.
//
// From a run of the same job, with the context that the run gets, it triggers nothing and returns an error at once, as it would
// wait for itself, unless the job's Overlap is [Allow]. It stops waiting if [election.Elector.Check] fails, or if a hook or the logger has held up a run of the job here for
// the TTL, because it may be called from there.
//
// If the job was added here but no leader has stored it yet, TriggerAndWait waits for that too. If somebody else triggers the job
// before the run starts, both get the same run. If somebody does so when it has just ended, both may get the record of the later run.
func (s *Scheduler) TriggerAndWait(ctx context.Context, job string, opts ...ChangeOption) (Record, error) {
	if err := s.mayAwait(ctx, job); err != nil {
		return Record{}, fmt.Errorf("scheduler: not triggered: %q: use Trigger: %w", job, err)
	}
	asked, err := s.change(ctx, job, trigger, opts, nil)
	for n := 1; errors.Is(err, ErrUnknownJob) && s.own(job) != nil; n++ {
		if problem := s.pollPause(ctx, job, n); problem != nil {
			return Record{}, fmt.Errorf("%w: %w", err, problem)
		}
		asked, err = s.change(ctx, job, trigger, opts, nil)
	}
	if err != nil {
		return Record{}, err
	}
	return s.await(ctx, job, "triggered", func(v *jobstore.View, now time.Time) Record { return triggered(v, asked.Setting, now) })
}

// mayAwait returns an error if ctx is that of a run of the job: it would wait for itself, unless the job allows overlaps.
func (s *Scheduler) mayAwait(ctx context.Context, job string) error {
	if j := s.own(job); j != nil && j.Overlap == Allow {
		return nil
	}
	if l := s.newestLoop(); l != nil {
		return l.runner.notFromInside(ctx, job)
	}
	return nil
}

// await waits until a run has ended that find returns from what the nodes know of a job, now by their clocks.
func (s *Scheduler) await(
	ctx context.Context, job, what string, find func(v *jobstore.View, now time.Time) Record,
) (Record, error) {
	var known Record
	state := "no leader has started it"
	for n := 1; ; n++ {
		if err := s.pollPause(ctx, job, n); err != nil {
			return known, fmt.Errorf("scheduler: the %s run of %q has not ended: %s: %w", what, job, state, err)
		}
		views, now, err := s.store.Views(ctx, job)
		switch {
		case err != nil: // until ctx is done
			state = fmt.Sprintf("the nodes could not be asked: %v", err)
			continue
		case len(views) == 0 || views[0].State.Removed:
			return known, fmt.Errorf("%w: %q: it was removed, and its %s run with it", ErrUnknownJob, job, what)
		case views[0].Err != nil:
			state = views[0].Err.Error()
			continue
		}
		known = find(&views[0], now)
		switch {
		case known.State == StateRunning:
			state = fmt.Sprintf("it runs on %q", known.Replica)
		case known.State == StateInterrupted:
			state = "its leader has stopped, and the next one runs it again"
		case known.State != "":
			return known, nil
		case views[0].Left:
			state = "the leader does not have the job"
		}
	}
}

// pollPause pauses before the next poll. It returns an error if waiting for the job is over: ctx is done, or this process is held up,
// perhaps by the function that waits.
func (s *Scheduler) pollPause(ctx context.Context, job string, n int) error {
	if err := retry.Sleep(ctx, awaitBackoff.After(n)); err != nil {
		return context.Cause(ctx)
	}
	if err := s.elector.Check(); errors.Is(err, election.ErrRestart) {
		return err
	}
	if l := s.newestLoop(); l != nil {
		if held := l.runner.heldUp(job); held != nil {
			return held.Err
		}
	}
	return nil
}

// newestLoop returns the loop of the newest term of this process, or nil.
func (s *Scheduler) newestLoop() *loop {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loop
}

// triggered returns what the nodes know of the run of a trigger: the first one from then on or, if another trigger was applied with it,
// or the nodes' clocks were set back since, the newest one.
func triggered(v *jobstore.View, asked jobstore.Setting, now time.Time) (found Record) {
	if !v.State.Manual.Covers(asked.Mark) {
		return found
	}
	var runs []Record
	for _, o := range v.State.Open {
		if o.Slot.Manual && !o.Slot.Again {
			r := runningOf(v.Job, o, now)
			if o.Returned {
				r.State = StateInterrupted
			}
			runs = append(runs, r)
		}
	}
	if r := v.State.ByHand; r != nil {
		runs = append(runs, recordOf(v.Job, *r))
	}
	slices.SortFunc(runs, func(a, b Record) int { return a.Start.Compare(b.Start) })
	for _, r := range runs {
		if found = r; !r.Tick.Before(asked.At()) {
			break
		}
	}
	return found
}
