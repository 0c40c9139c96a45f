package scheduler

import (
	"context"
	"errors"
	"fmt"
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
// From a run of the same job, with the context that the run gets, it triggers nothing and returns an error at once: it would wait
// for itself. It stops waiting if [election.Elector.Check] fails, or if a hook or the logger has held up a run of the job here for
// the TTL, because it may be called from there.
//
// If the job was added here but no leader has stored it yet, TriggerAndWait waits for that too. If somebody else triggers the job
// before the run starts, both get the same run. If somebody does so when it has just ended, both may get the record of the later run.
func (s *Scheduler) TriggerAndWait(ctx context.Context, job string, opts ...ChangeOption) (Record, error) {
	if l := s.newestLoop(); l != nil {
		if err := l.runner.notFromInside(ctx, job); err != nil {
			return Record{}, fmt.Errorf("scheduler: not triggered: %q: use Trigger: %w", job, err)
		}
	}
	set, err := s.change(ctx, "trigger", job, s.store.Trigger, opts)
	for n := 1; errors.Is(err, ErrUnknownJob) && s.own(job) != nil; n++ {
		if problem := s.pollPause(ctx, job, n); problem != nil {
			return Record{}, fmt.Errorf("%w: %w", err, problem)
		}
		set, err = s.change(ctx, "trigger", job, s.store.Trigger, opts)
	}
	if err != nil {
		return Record{}, err
	}
	asked := trigger{at: set.At(), polled: time.Now()}
	return s.await(ctx, job, "triggered", asked.run)
}

// await waits until a run has ended that find returns from what the nodes know of a job.
func (s *Scheduler) await(ctx context.Context, job, what string, find func(v *jobstore.View, now time.Time) Record) (Record, error) {
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
		return l.runner.heldUp(job, s.elector.Settings().TTL)
	}
	return nil
}

// newestLoop returns the loop of the newest term of this process, or nil.
func (s *Scheduler) newestLoop() *loop {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loop
}

// trigger is a trigger whose run somebody waits for.
type trigger struct {
	at     time.Time // when it was made, by the nodes' clocks
	again  time.Time // if the nodes' clocks were set back, not after that, by the present clocks: it has a time from then on
	polled time.Time // by the clock of this process
}

// run returns what the nodes know of the first run that was triggered then or later. now is by their clocks.
func (t *trigger) run(v *jobstore.View, now time.Time) (first Record) {
	if t.again.IsZero() && t.at.Sub(now) > jobstore.Ahead {
		t.again = now.Add(-time.Since(t.polled))
	}
	t.polled = time.Now()
	take := func(r Record) {
		isOurs := !r.Tick.Before(t.at) || !t.again.IsZero() && !r.Tick.Before(t.again) && !r.Tick.After(now)
		if isOurs && (first.State == "" || r.Tick.Before(first.Tick)) {
			first = r
		}
	}
	for _, o := range v.State.Open {
		if o.Slot.Manual && !o.Slot.Again {
			r := runningOf(v.Job, o, now)
			if o.Returned {
				r.State = StateInterrupted
			}
			take(r)
		}
	}
	if r := v.State.ByHand; r.State != "" {
		take(recordOf(v.Job, r))
	}
	return first
}
