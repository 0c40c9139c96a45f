package scheduler

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/register"
)

// Trigger asks for a run of the job by hand, from any replica, which need not have the job. The leader starts it
// at once; if nobody leads, the next one does. Of several requests before it starts, one run is made. It obeys
// the job's Overlap, also while the job is paused, and moves no tick. [ErrUnknownJob]: no leader has ever had a
// job of that name. Any other error says that too few nodes have taken it: it may still take effect.
func (s *Scheduler) Trigger(ctx context.Context, job string) error {
	_, err := s.register.Trigger(ctx, job, s.elector.Identity())
	return s.told("trigger", job, err)
}

// Pause has no tick of the job run on any replica until [Scheduler.Resume], from any replica; also over changes
// of the leader and restarts of nodes. A tick that is being claimed may still run, and runs under way go on.
// Errors are those of [Scheduler.Trigger].
func (s *Scheduler) Pause(ctx context.Context, job string) error {
	_, err := s.register.Pause(ctx, job, s.elector.Identity(), true)
	return s.told("pause", job, err)
}

// Resume ends a pause. Ticks that came meanwhile are not caught up with. Errors are those of
// [Scheduler.Trigger].
func (s *Scheduler) Resume(ctx context.Context, job string) error {
	_, err := s.register.Pause(ctx, job, s.elector.Identity(), false)
	return s.told("resume", job, err)
}

// told logs what a person has asked for.
func (s *Scheduler) told(what, job string, err error) error {
	if err = s.publicError(what, job, err); err == nil {
		s.log.Info(what, zap.String("job", job), zap.String("replica", s.elector.Identity()))
	}
	return err
}

// publicError is err in the words of this package.
func (s *Scheduler) publicError(what, job string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, register.ErrUnknown):
		return fmt.Errorf("%w: %q", ErrUnknownJob, job)
	}
	return fmt.Errorf("scheduler: %s %q: %w", what, job, err)
}
