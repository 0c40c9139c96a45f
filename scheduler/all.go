package scheduler

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlockfx/redlockfx/internal/cronspec"
	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

// The pause of all jobs is that of a job without ticks, which every leader has. So it is stored, lost and found like any other pause.
// The leader passes it on to each job, whose state then says that its ticks do not run. The job's own pause stays as it is.

// everyJob is that job.
var everyJob = &job{
	Job: Job{Name: jobstore.AllJobs}, schedule: never, label: jobstore.Label(jobstore.AllJobs),
	machine: jobmachine.Job{Name: jobstore.AllJobs, Schedule: never},
}

// never is the schedule of a job without ticks.
const never = cronspec.Opaque("")

// PauseAll stops the ticks of all jobs of the election, also of those that are added later, until [Scheduler.ResumeAll]. A job that is
// paused by itself stays so afterwards. For the rest it is like [Scheduler.Pause].
func (s *Scheduler) PauseAll(ctx context.Context, opts ...ChangeOption) error {
	return s.changeAll(ctx, pause, opts)
}

// ResumeAll ends the pause of all jobs. Jobs that are paused by themselves stay paused.
func (s *Scheduler) ResumeAll(ctx context.Context, opts ...ChangeOption) error {
	return s.changeAll(ctx, resume, opts)
}

func (s *Scheduler) changeAll(ctx context.Context, r jobstore.Request, opts []ChangeOption) error {
	_, err := s.request(ctx, jobstore.AllJobs, r, opts, nil)
	switch {
	case errors.Is(err, jobstore.ErrUnknown):
		return fmt.Errorf("%w: no leader of the election %q has stored its jobs yet", ErrUnknownJob, s.elector.Name())
	case errors.Is(err, jobstore.ErrNoQuorum):
		return publicError(changeOf(jobstore.AllJobs, r).What+" of", s.elector.Name(), err)
	}
	return err
}

// ofAll returns the pause of all jobs, or its end, as a request for each of them.
func ofAll(set jobstore.Setting) jobstore.Request {
	return jobstore.Request{Verb: jobstore.ToPauseAll, Setting: set}
}

// passOn tells the jobs of the pause of all jobs, or of its end.
func (l *loop) passOn(set jobstore.Setting) {
	for _, e := range l.entries {
		if e != l.all {
			l.apply(e, jobmachine.Asked{Now: l.clock.latest, Request: ofAll(set)})
		}
	}
}
