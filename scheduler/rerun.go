package scheduler

import (
	"context"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/cronspec"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// maxRerun is how old a tick may be that runs again.
const maxRerun = 366 * 24 * time.Hour

// Rerun requests that a tick runs again, with its own key: one that ran, failed, was lost, missed, skipped or canceled. Any replica may
// call it. With fenced.Job it is safe to do so without looking: if the effect is there already, the run does nothing, and succeeds.
// [Run].Attempt is at least 2, and [Run].Manual and [Run].Rerun are true.
//
// Like a triggered run, it obeys the job's Overlap, takes place even if the job is paused, expires after an hour, and moves no tick. A
// request for a tick whose run has not ended makes no further run.
//
// The error is [ErrNotTick] if the instant is no tick of the present spec of the last 366 days, with the ticks around it, and
// [ErrNotSettled] if the tick has not come, waits, or has a run without an end. The others are those of [Scheduler.Trigger].
func (s *Scheduler) Rerun(ctx context.Context, job string, tick time.Time, opts ...ChangeOption) error {
	_, err := s.rerun(ctx, job, tick, opts)
	return err
}

// RerunAndWait calls [Scheduler.Rerun], waits until the run has ended, and returns its record. For the rest it is like
// [Scheduler.TriggerAndWait].
func (s *Scheduler) RerunAndWait(ctx context.Context, job string, tick time.Time, opts ...ChangeOption) (Record, error) {
	if err := s.mayAwait(ctx, job); err != nil {
		return Record{}, fmt.Errorf("scheduler: not run again: %q: use Rerun: %w", job, err)
	}
	asked, err := s.rerun(ctx, job, tick, opts)
	if err != nil {
		return Record{}, err
	}
	return s.await(ctx, job, "repeated", func(v *jobstore.View, now time.Time) (found Record) {
		for _, o := range v.State.Open {
			if o.Slot.Again && o.Slot.At.Equal(tick) {
				found = runningOf(job, o, now)
			}
		}
		for _, r := range v.State.Reruns {
			if r.Tick.Equal(tick) && r.Covers(asked.Mark) && r.Outcome.State != "" {
				found = recordOf(job, r.Outcome)
			}
		}
		return found
	})
}

func (s *Scheduler) rerun(ctx context.Context, job string, tick time.Time, opts []ChangeOption) (jobstore.Request, error) {
	return s.change(ctx, job, jobstore.Request{Verb: jobstore.ToRerun, Tick: tick}, opts, func(v *jobstore.View, now time.Time) error {
		return s.mayRerun(v, tick, now)
	})
}

// isPassedOver reports whether a tick came during a pause that holds, so that it never runs by itself.
func isPassedOver(pause jobstore.Setting, tick, now time.Time) bool {
	return pause.Holds(now) && tick.After(pause.At())
}

// mayRerun returns an error unless a tick may run again.
func (s *Scheduler) mayRerun(v *jobstore.View, tick, now time.Time) error {
	schedule, err := scheduleOf(v.State.Plan, s.own(v.Job))
	if err != nil {
		return fmt.Errorf("scheduler: rerun of %q: %w", v.Job, err)
	}
	show := func(t time.Time) string {
		if t.IsZero() {
			return "none"
		}
		return t.UTC().Format(time.RFC3339)
	}
	_, spec := cronspec.SplitPlan(v.State.Plan)
	_, isOpaque := schedule.(cronspec.Opaque)
	switch next := schedule.Next(tick.Add(-time.Nanosecond)); {
	case isOpaque:
		return fmt.Errorf("%w: only a process that has job %q knows the ticks of its Schedule: call Rerun there", ErrNotTick, v.Job)
	case !next.Equal(tick):
		return fmt.Errorf("%w: %s of job %q: the next one of %q after it is %s", ErrNotTick, show(tick), v.Job, spec, show(next))
	case tick.Before(now.Add(-maxRerun)):
		return fmt.Errorf("%w: %s of job %q: it is more than 366 days ago", ErrNotTick, show(tick), v.Job)
	case tick.After(now):
		return fmt.Errorf("%w: the tick %s of job %q is in the future", ErrNotSettled, show(tick), v.Job)
	case tick.After(v.State.Mark) && !isPassedOver(v.Pause, tick, now) && !isPassedOver(v.State.All, tick, now):
		return fmt.Errorf("%w: the tick %s of job %q waits: see Status", ErrNotSettled, show(tick), v.Job)
	}
	for _, o := range v.State.Open {
		if !o.Slot.Manual && o.Slot.At.Equal(tick) {
			return fmt.Errorf("%w: the run of %s of job %q has not ended", ErrNotSettled, show(tick), v.Job)
		}
	}
	return nil
}
