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

// Trigger asks for a run of the job, from any replica, which need not have the job. The leader starts it at once; if nobody
// leads, the next one does, within an hour: then the request expires, and is recorded as missed. Several requests before it
// starts make one run. It obeys the job's Overlap, also while the job is paused, and moves no tick. [ErrUnknownJob]: no leader has ever had a
// job of that name. Any other error says that too few nodes have taken it: it may still take effect.
func (s *Scheduler) Trigger(ctx context.Context, job string) error {
	return s.set("trigger", job, func() (jobstore.Setting, error) {
		return s.store.Trigger(ctx, job, s.elector.Identity())
	})
}

// Pause has no tick of the job run on any replica until [Scheduler.Resume], from any replica; also over changes
// of the leader and restarts of nodes. A run that is being started may still run, and runs under way go on.
// Errors are those of [Scheduler.Trigger].
func (s *Scheduler) Pause(ctx context.Context, job string) error {
	return s.set("pause", job, func() (jobstore.Setting, error) {
		return s.store.Pause(ctx, job, s.elector.Identity(), true)
	})
}

// Resume ends a pause. Ticks that came meanwhile are not caught up with. Errors are those of
// [Scheduler.Trigger].
func (s *Scheduler) Resume(ctx context.Context, job string) error {
	return s.set("resume", job, func() (jobstore.Setting, error) {
		return s.store.Pause(ctx, job, s.elector.Identity(), false)
	})
}

// set does what a person has asked for, and logs it.
func (s *Scheduler) set(what, job string, do func() (jobstore.Setting, error)) error {
	if err := name.Check("name", job); err != nil {
		return fmt.Errorf("%w: %w", ErrName, err)
	}
	if _, err := do(); err != nil {
		return publicError(what, job, err)
	}
	s.log.Info(what, zap.String("job", job), zap.String("replica", s.elector.Identity()))
	return nil
}

// publicError is err with the words of this package and of redlock.
func publicError(what, job string, err error) error {
	switch {
	case errors.Is(err, jobstore.ErrUnknown):
		return fmt.Errorf("%w: %q", ErrUnknownJob, job)
	case errors.Is(err, jobstore.ErrNoQuorum):
		return fmt.Errorf("scheduler: %s %q: %w: %w", what, job, redlock.ErrNoQuorum, err)
	}
	return fmt.Errorf("scheduler: %s %q: %w", what, job, err)
}
