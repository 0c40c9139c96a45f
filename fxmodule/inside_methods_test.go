package redlockfx_test

import (
	"context"
	"errors"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

type method func(ctx context.Context, s *service) error

// methods are the rows of the table in docs/guarantees.md: those that wait for something, and most others that ask the nodes.
var methods = map[string]method{
	"`Locker.Acquire`, `TryAcquire`": func(ctx context.Context, s *service) error {
		try, tried := s.locker.TryAcquire(ctx, "lock")
		if tried == nil {
			tried = try.Release(ctx)
		}
		lease, err := s.locker.Acquire(ctx, "lock")
		if err == nil {
			err = lease.Release(ctx)
		}
		return errors.Join(tried, err)
	},
	"`Locker.Do`": func(ctx context.Context, s *service) error {
		return s.locker.Do(ctx, "lock", func(context.Context, *redlock.Lease) error { return nil })
	},
	"`Lease.Extend`, `Release`": func(ctx context.Context, s *service) error {
		lease := s.lease.Load()
		if lease == nil {
			var err error
			if lease, err = s.locker.TryAcquire(ctx, "free"); err != nil {
				return err
			}
		}
		return errors.Join(lease.Extend(ctx), lease.Release(ctx))
	},
	"`Locker.Close`":     func(ctx context.Context, s *service) error { return s.locker.Close(ctx) },
	"`Elector.Run`":      func(ctx context.Context, s *service) error { return s.elector.Run(ctx) },
	"`Elector.Shutdown`": func(ctx context.Context, s *service) error { return s.elector.Shutdown(ctx) },
	"`Term.Do`": func(ctx context.Context, s *service) error {
		if s.term.Load() == nil { // in the first attempt
			return nil
		}
		return s.term.Load().Do(ctx, func(context.Context) error { return nil })
	},
	"`Term.Resign`, and to wait for the end of `Term.Context`": func(_ context.Context, s *service) error {
		if s.term.Load() == nil {
			return nil
		}
		s.term.Load().Resign(nil)
		<-s.term.Load().Context().Done()
		return nil
	},
	"`Scheduler.Shutdown`": func(ctx context.Context, s *service) error { return s.scheduler.Shutdown(ctx) },
	"`Scheduler.TriggerAndWait`, `RerunAndWait` of this job": func(ctx context.Context, s *service) error {
		_, rerun := s.scheduler.RerunAndWait(ctx, "job", s.endedTick(ctx))
		_, triggered := s.scheduler.TriggerAndWait(ctx, "job")
		return errors.Join(rerun, triggered)
	},
	"`Scheduler.TriggerAndWait` of another job": func(ctx context.Context, s *service) error {
		_, err := s.scheduler.TriggerAndWait(ctx, "other")
		return err
	},
	"`Locker.Ready`, and what only reads": func(ctx context.Context, s *service) error {
		_, held := s.locker.Holder(ctx, "lock")
		s.locker.Nodes(ctx)
		_, led := s.elector.Leader(ctx)
		_, listed := s.scheduler.Jobs(ctx)
		_, known := s.scheduler.Status(ctx, "job")
		_, ran := s.scheduler.History(ctx, "job", 10)
		_, changed := s.scheduler.Changes(ctx, "job")
		return errors.Join(s.locker.Ready(ctx), held, led, s.elector.Check(), listed, known, ran, changed)
	},
	"`Scheduler.Add`, `Remove`, `Forget`, `Trigger`, `Rerun`, `Cancel`, `Pause`, `Resume`": func(ctx context.Context, s *service) error {
		j := s.scheduler
		return errors.Join(j.Trigger(ctx, "job"), j.Rerun(ctx, "job", s.endedTick(ctx)), j.Cancel(ctx, "job"),
			j.Pause(ctx, "job"), j.PauseAll(ctx), j.Resume(ctx, "job"), j.ResumeAll(ctx),
			j.Remove("other"), j.Forget(ctx, "other"), j.Add(scheduler.Job{
				Name: "new", Spec: "@yearly", Run: func(context.Context, scheduler.Run) error { return nil },
			}))
	},
	"`OnLeader`, `OnNewLeader`, `OnNode`, and what they return": func(_ context.Context, s *service) error {
		for len(s.stops) > 0 { // also that of the function that calls
			(<-s.stops)()
		}
		s.elector.OnLeader(func(context.Context) {})()
		s.elector.OnNewLeader(func(election.Leader) {})()
		s.locker.OnNode(func(redlock.NodeEvent) {})()
		return nil
	},
	"`fx.App.Stop`": func(ctx context.Context, s *service) error { return s.App.App.Stop(ctx) },
}

// endedTick returns a tick of the job whose run has ended, or, before there is one, one that cannot run again.
func (s *service) endedTick(ctx context.Context) (tick time.Time) {
	history, _ := s.scheduler.History(ctx, "job", 50)
	for _, r := range history {
		if !r.Manual && !r.End.IsZero() {
			tick = r.Tick
		}
	}
	return tick
}
