package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/name"
	"github.com/redlockfx/redlockfx/internal/nearest"
	"github.com/redlockfx/redlockfx/redlock"
)

// Trigger requests a run of the job. Any replica may call it, even one that does not have the job. The leader starts the run at
// once. If nobody leads, the next leader starts it. After an hour the trigger expires and is recorded as missed. Several triggers
// before the run starts make one run. The run obeys the job's Overlap, runs even if the job is paused, and moves no tick.
//
// The error is [ErrUnknownJob] if no leader has ever had a job of that name, with similar names, or if it was removed. It is [ErrName]
// if the name, or the text of [By] or [Because], breaks the rule for names. Any other error says that too few nodes have stored the
// trigger: it may still take effect, also after a later change of another replica if the nodes' clocks differ or were set back. Nodes
// keep at most ten thousand changes that no leader has applied.
func (s *Scheduler) Trigger(ctx context.Context, job string, opts ...ChangeOption) error {
	_, err := s.change(ctx, job, trigger, opts, nil)
	return err
}

// Pause stops the ticks of the job on all replicas until [Scheduler.Resume]. Any replica may call it. The leader applies it within
// milliseconds if the nodes' messages reach it, and otherwise within a third of the longest TTL, or five minutes if that is less. Ticks
// until then still run, and runs under way go on. A tick that has come by then and whose run has not begun is recorded as missed.
//
// A pause outlives changes of the leader and restarts of nodes. If all nodes lose their data, as when one Redis without persistence
// restarts, it is kept if the next leader's process had seen it. The errors are those of [Scheduler.Trigger].
func (s *Scheduler) Pause(ctx context.Context, job string, opts ...ChangeOption) error {
	_, err := s.change(ctx, job, pause, opts, nil)
	return err
}

// Resume ends a pause. Ticks that came during the pause are not caught up with. The errors are those of [Scheduler.Trigger].
func (s *Scheduler) Resume(ctx context.Context, job string, opts ...ChangeOption) error {
	_, err := s.change(ctx, job, resume, opts, nil)
	return err
}

// Cancel ends the runs of the job that are under way at this call, on whatever replica, and those that wait for a retry: their contexts
// end with [ErrCanceled], and they are recorded as [StateCanceled] when they return. They are not retried, and not repeated if their
// leader dies before. Ticks that have not begun are not affected. A run that ignores its context goes on; its record then says since
// when somebody has asked.
//
// The error is [ErrNotRunning] if the newest state on the nodes has no such run. The others are those of [Scheduler.Trigger].
func (s *Scheduler) Cancel(ctx context.Context, job string, opts ...ChangeOption) error {
	_, err := s.change(ctx, job, jobstore.Request{Verb: jobstore.ToCancel}, opts, func(v *jobstore.View, _ time.Time) error {
		if len(v.State.Open) == 0 {
			return fmt.Errorf("%w: job %q", ErrNotRunning, job)
		}
		return nil
	})
	return err
}

var (
	trigger = jobstore.Request{Verb: jobstore.ToTrigger}
	pause   = jobstore.Request{Verb: jobstore.ToPause, Setting: jobstore.Setting{On: true}}
	resume  = jobstore.Request{Verb: jobstore.ToPause}
)

// change makes a request for a job, and returns it as the nodes keep it. may is as in [jobstore.Store.Ask].
func (s *Scheduler) change(
	ctx context.Context, job string, r jobstore.Request, opts []ChangeOption, may func(v *jobstore.View, now time.Time) error,
) (jobstore.Request, error) {
	if err := name.Check("name", job); err != nil {
		return r, fmt.Errorf("%w: %w", ErrName, err)
	}
	r, err := s.request(ctx, job, r, opts, may)
	switch {
	case errors.Is(err, jobstore.ErrUnknown):
		return r, s.unknown(ctx, job)
	case errors.Is(err, jobstore.ErrRemoved):
		return r, fmt.Errorf("%w: %w", ErrUnknownJob, err)
	case errors.Is(err, jobstore.ErrNoQuorum):
		return r, publicError(changeOf(job, r).What, job, err)
	}
	return r, err
}

// request makes a request, and logs it. may and the end of a pause are judged by what the nodes say.
func (s *Scheduler) request(
	ctx context.Context, job string, r jobstore.Request, opts []ChangeOption, may func(v *jobstore.View, now time.Time) error,
) (jobstore.Request, error) {
	var err error
	if r.Origin, err = s.origin(r, opts); err != nil {
		return r, err
	}
	if r, err = s.store.Ask(ctx, job, r, func(v *jobstore.View, now time.Time) error {
		if err := checkUntil(r.Until, now); err != nil || may == nil {
			return err
		}
		return may(v, now)
	}); err != nil {
		return r, err
	}
	c := changeOf(job, r)
	s.log.Info("change stored, the leader will apply it", zap.String("what", c.What), zap.String("job", c.Job), zap.String("by", c.By),
		zap.String("reason", c.Reason), zap.String("from", c.From))
	return r, nil
}

// publicError wraps err in the errors of this package and of redlock.
func publicError(what, job string, err error) error {
	if errors.Is(err, jobstore.ErrNoQuorum) {
		return fmt.Errorf("scheduler: %s %q: %w: %w", what, job, redlock.ErrNoQuorum, err)
	}
	return fmt.Errorf("scheduler: %s %q: %w", what, job, err)
}

// unknown returns an [ErrUnknownJob] that says whether no leader has stored the job yet, or its name may be mistyped.
func (s *Scheduler) unknown(ctx context.Context, job string) error {
	if s.own(job) != nil {
		state := "any process that has the job, such as this one, stores it when it leads"
		switch s.elector.State() {
		case election.StateLeading:
			state = "this process leads, and stores it within moments: try again"
		case election.StateStopped:
			state = "this process cannot lead, as its Elector.Run is not running"
		}
		return fmt.Errorf("%w: %q: it is added here, and no leader has stored it yet; %s", ErrUnknownJob, job, state)
	}
	all, err := s.Jobs(ctx)
	if err != nil {
		return fmt.Errorf("%w: %q", ErrUnknownJob, job) // the nodes answered that a moment ago; only the hint is missing
	}
	if len(all) == 0 {
		return fmt.Errorf("%w: %q: the nodes know no job of the election %q: no leader has had one, or the election has "+
			"another name or key prefix", ErrUnknownJob, job, s.elector.Name())
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Job
	}
	hint := nearest.Question(nearest.Names(job, names))
	if hint == "" {
		hint = fmt.Sprintf("the nodes know %d jobs, and none with a name like that", len(names))
	}
	return fmt.Errorf("%w: %q: %s", ErrUnknownJob, job, hint)
}
