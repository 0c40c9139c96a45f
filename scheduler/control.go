package scheduler

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/redlock"
)

// Trigger requests a run of the job, from any replica, which need not have the job. The leader starts it at once; if nobody
// leads, the next leader does, within an hour: after that the trigger expires and is recorded as missed. Several triggers
// before the run starts make one run. It obeys the job's Overlap, runs also while the job is paused, and moves no tick.
// [ErrUnknownJob]: no leader has ever had a job of that name. Any other error says that too few nodes have stored it: it may
// still take effect.
func (s *Scheduler) Trigger(ctx context.Context, job string) error {
	return s.set(ctx, "trigger", job, s.store.Trigger)
}

// Pause stops the ticks of the job on all replicas until [Scheduler.Resume], from any replica. A pause outlives changes of the
// leader and restarts of nodes. A tick whose start is being stored may still run, and runs under way go on.
// Errors are those of [Scheduler.Trigger].
func (s *Scheduler) Pause(ctx context.Context, job string) error {
	return s.set(ctx, "pause", job, s.store.Pause)
}

// Resume ends a pause. Ticks that came meanwhile are not caught up with. Errors are those of
// [Scheduler.Trigger].
func (s *Scheduler) Resume(ctx context.Context, job string) error {
	return s.set(ctx, "resume", job, s.store.Resume)
}

// set sets what a person wants, and logs it.
func (s *Scheduler) set(
	ctx context.Context, what, job string, do func(ctx context.Context, job, by, from string) (jobstore.Setting, error),
) error {
	if err := name.Check("name", job); err != nil {
		return fmt.Errorf("%w: %w", ErrName, err)
	}
	who, err := whoIn(ctx)
	if err != nil {
		return err
	}
	if _, err := do(ctx, job, who, s.elector.Identity()); err != nil {
		return publicError(what, job, err)
	}
	s.log.Info(what, zap.String("job", job), zap.String("by", who), zap.String("replica", s.elector.Identity()))
	return nil
}

// publicError wraps err in the errors of this package and of redlock.
func publicError(what, job string, err error) error {
	switch {
	case errors.Is(err, jobstore.ErrUnknown):
		return fmt.Errorf("%w: %q", ErrUnknownJob, job)
	case errors.Is(err, jobstore.ErrNoQuorum):
		return fmt.Errorf("scheduler: %s %q: %w: %w", what, job, redlock.ErrNoQuorum, err)
	}
	return fmt.Errorf("scheduler: %s %q: %w", what, job, err)
}
