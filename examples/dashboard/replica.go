package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/election/termlog"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

// nodeTimeout is longer than the default, because all nodes and replicas share one machine, which may be busy.
const nodeTimeout = 500 * time.Millisecond

var ttl = 5 * time.Second // less in tests, because new nodes grant nothing until it has passed

// replica is one pod of the service.
type replica struct {
	name      string
	process   *redlocktest.Process // its connections to the nodes
	locker    *redlock.Locker
	elector   *election.Elector
	scheduler *scheduler.Scheduler
	log       *zap.Logger
}

func newReplica(name string, nodes *redlocktest.Nodes, log *zap.Logger) (*replica, error) {
	r := &replica{name: name, process: nodes.Process(), log: log.With(zap.String("pod", name))}
	var err error
	r.locker, err = redlock.New(r.process.Clients(), redlock.WithTTL(ttl), redlock.WithNodeTimeout(nodeTimeout))
	if err != nil {
		return nil, err
	}
	r.elector, err = election.New(r.locker, "billing", election.WithIdentity(name, "10.0.0."+name[4:]), election.WithHooks(termlog.Hooks()),
		election.WithDrainTimeout(time.Second)) // so that Ctrl-C does not wait for the import
	if err != nil {
		return nil, err
	}
	if r.scheduler, err = scheduler.New(r.elector, scheduler.WithLogger(r.log)); err != nil {
		return nil, err
	}
	return r, r.scheduler.Add(jobs()...)
}

// jobs returns jobs of all kinds: good and bad, short and long, and one whose ticks come while it still runs.
func jobs() []scheduler.Job {
	lasting := func(d time.Duration, problem error) func(context.Context, scheduler.Run) error {
		return func(ctx context.Context, _ scheduler.Run) error {
			select {
			case <-time.After(d):
				return problem
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return []scheduler.Job{
		{Name: "invoices", Spec: "*/10 * * * * *", Run: lasting(1200*time.Millisecond, nil), AtLeastOnce: true},
		{Name: "heartbeat", Spec: "@every 2s", Run: lasting(20*time.Millisecond, nil)},
		{Name: "exchange rates", Spec: "*/20 * * * * *", Run: func(_ context.Context, run scheduler.Run) error {
			if run.Tick.Second()/20 == 1 {
				return fmt.Errorf("GET https://rates.example/latest: 503 Service Unavailable")
			}
			return nil
		}},
		{Name: "import <catalogue>", Spec: "*/15 * * * * *", Run: lasting(22*time.Second, nil)},
		{Name: "bounces", Spec: "*/30 * * * * *", Run: lasting(100*time.Millisecond, errors.New("mailbox is locked\nby pid 4711"))},
		{Name: "nightly report", Spec: "CRON_TZ=Europe/Berlin 30 2 * * *", Run: lasting(time.Minute, nil)},
		{Name: "monthly statement", Spec: "0 6 1 * *", Run: lasting(time.Minute, nil), CatchUp: scheduler.CatchUpLast(24 * time.Hour)},
	}
}

// run campaigns until ctx is done.
func (r *replica) run(ctx context.Context) {
	if err := r.elector.Run(ctx); err != nil {
		r.log.Error("the election ended", zap.Error(err))
	}
}

func (r *replica) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := r.locker.Close(ctx); err != nil {
		r.log.Warn("closed the Locker, but some nodes may still have its locks", zap.Error(err))
	}
}
