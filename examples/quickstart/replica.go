package main

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"

	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/scheduler"
)

const jobName = "report"

// replica is one pod of the service: a separate fx application.
type replica struct {
	app       *fx.App
	scheduler *scheduler.Scheduler
	link      *link
}

// start does what a service does: it gives the module its settings, its nodes and its work.
func start(name string, config redlockfx.Config, clients []redis.UniversalClient, h *history) (*replica, error) {
	config.Identity = name
	r := &replica{link: newLink()}
	r.app = fx.New(
		fx.NopLogger, // main prints the error that start returns
		fx.Supply(config),
		redlockfx.Module,
		r.link.nodes(clients), // a service has the addresses in Config.Nodes instead
		redlockfx.OnLeader(func(ctx context.Context) { h.lead(ctx, name) }),
		redlockfx.Job(func() scheduler.Job {
			return scheduler.Job{
				Name:    jobName,
				Spec:    "@every " + every.String(),
				Overlap: scheduler.Queue,                   // a tick that comes during a run waits
				CatchUp: scheduler.CatchUpAll(time.Minute), // the default runs only the newest late tick
				Run:     func(ctx context.Context, run scheduler.Run) error { return h.run(ctx, name, run) },
			}
		}),
		fx.Populate(&r.scheduler),
	)
	ctx, cancel := context.WithTimeout(context.Background(), r.app.StartTimeout())
	defer cancel()
	if err := r.app.Start(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// startAll starts the replicas. Even on an error it returns those that have started, by name.
func startAll(config redlockfx.Config, connect connector, h *history) (map[string]*replica, error) {
	replicas := make(map[string]*replica)
	for _, name := range []string{"pod-1", "pod-2", "pod-3"} {
		r, err := start(name, config, connect(), h)
		if err != nil {
			return replicas, err
		}
		replicas[name] = r
	}
	return replicas, nil
}

// history returns the history of the job from the nodes. If too few answer in time, as on a busy machine, it asks again.
func (r *replica) history(ctx context.Context) (records []scheduler.Record, err error) {
	for range 5 {
		if records, err = r.scheduler.History(ctx, jobName, 50); err == nil {
			break
		}
	}
	return records, err
}

// stop lets runs finish, and hands over. Calling it again does nothing.
func (r *replica) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), r.app.StopTimeout())
	defer cancel()
	return r.app.Stop(ctx)
}
