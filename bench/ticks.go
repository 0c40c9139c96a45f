package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	ticksFor   = 40 // ticks of one job a second
	atOnce     = 10_000
	failingFor = 1000 // jobs of a failover
	triggers   = 40
)

// service is a process that runs jobs.
type service struct {
	elector *election.Elector
	jobs    *scheduler.Scheduler
}

func newService(p oursPeer, name string, opts ...election.Option) (service, error) {
	e, err := election.New(p.locker, name, opts...)
	if err != nil {
		return service{}, err
	}
	s, err := scheduler.New(e)
	return service{e, s}, err
}

// ticks is of jobs: how long after its tick a run starts. The nodes and this process share a clock.
func (b *bench) ticks(ctx context.Context) error {
	return withLockers(ctx, b.cluster.Addrs(), 2, func(all []oursPeer) error {
		return errors.Join(b.oneASecond(ctx, all[0]), b.trigger(ctx, all), b.instant(ctx, all[0]), b.failover(ctx, all))
	})
}

func (b *bench) oneASecond(ctx context.Context, p oursPeer) error {
	s, err := newService(p, nextName())
	if err != nil {
		return err
	}
	late := make(chan time.Duration, ticksFor)
	err = s.jobs.Add(scheduler.Job{Name: "tick", Spec: "* * * * * *", Run: func(_ context.Context, run scheduler.Run) error {
		select {
		case late <- time.Since(run.Tick):
		default: // enough are in
		}
		return nil
	}})
	if err != nil {
		return err
	}
	campaign := start(ctx, s.elector)
	var took []time.Duration
	for len(took) < ticksFor && err == nil {
		select {
		case d := <-late:
			took = append(took, d)
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	p50, p99 := b.report.latency("from a tick to the start of its run", took, nil, "")
	b.report.atMost("from a tick to its run, p50 ms", p50, 2)
	b.report.atMost("from a tick to its run, p99 ms", p99, 10)
	return errors.Join(err, campaign.Release(ctx))
}

// trigger is of runs that another process than the leader asks for.
func (b *bench) trigger(ctx context.Context, all []oursPeer) error {
	name := nextName()
	started := make(chan time.Time, 1)
	var services []service
	for _, p := range all {
		s, err := newService(p, name)
		if err == nil {
			err = s.jobs.Add(scheduler.Job{Name: "job", Spec: "@yearly", Run: func(context.Context, scheduler.Run) error {
				started <- time.Now()
				return nil
			}})
		}
		if err != nil {
			return err
		}
		services = append(services, s)
	}
	campaign := start(ctx, services[0].elector)
	time.Sleep(3 * time.Second) // a job that the nodes did not know is run by them two seconds later
	var took []time.Duration
	var err error
	for len(took) < triggers && err == nil {
		began := time.Now()
		if err = services[1].jobs.Trigger(ctx, "job"); err != nil {
			break
		}
		select {
		case at := <-started:
			took = append(took, at.Sub(began))
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		time.Sleep(20 * time.Millisecond) // its end is written
	}
	_, p99 := b.report.latency("from Trigger, by another process, to the run", took, nil, "")
	b.report.atMost("from Trigger to its run, p99 ms", p99, 50)
	return errors.Join(err, campaign.Release(ctx))
}

// instant is of jobs that are all due at one instant.
func (b *bench) instant(ctx context.Context, p oursPeer) error {
	s, err := newService(p, nextName())
	if err != nil {
		return err
	}
	at := time.Now().Add(40 * time.Second).Truncate(time.Second)
	spec := at.UTC().Format("5 4 15 2 1 *") // second minute hour day month
	var left atomic.Int64
	left.Store(atOnce)
	last := make(chan time.Duration, 1)
	jobs := jobsOf(atOnce, []string{spec}, func(_ context.Context, run scheduler.Run) error {
		if left.Add(-1) == 0 {
			last <- time.Since(run.Tick)
		}
		return nil
	})
	if err := s.jobs.Add(jobs...); err != nil {
		return err
	}
	campaign := start(ctx, s.elector)
	select {
	case d := <-last:
		b.report.figure("10,000 jobs of one instant, until the last runs", "s", d.Seconds())
		b.report.atMost("10,000 jobs of one instant, s", d.Seconds(), 1.5)
	case <-time.After(time.Minute):
		err = fmt.Errorf("%d of %d jobs did not run", left.Load(), atOnce)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return errors.Join(err, campaign.Release(ctx))
}

// failover is from the new leader's promise to its first run, with many jobs whose ticks came while nobody led.
func (b *bench) failover(ctx context.Context, all []oursPeer) error {
	name := nextName()
	var services []service
	runs := make(chan time.Time, 1)
	won := make(chan time.Time, len(all))
	for _, p := range all {
		s, err := newService(p, name, election.WithHooks(election.Hooks{
			Elected: func(*election.Term) { won <- time.Now() },
		}))
		if err != nil {
			return err
		}
		jobs := jobsOf(failingFor, []string{"* * * * * *"}, func(context.Context, scheduler.Run) error {
			select {
			case runs <- time.Now():
			default: // nobody waits for this one
			}
			return nil
		})
		if err := s.jobs.Add(jobs...); err != nil {
			return err
		}
		services = append(services, s)
	}
	before := start(ctx, services[0].elector)
	for range 3 * failingFor { // the nodes know the jobs, and have records of them
		<-runs
	}
	if err := before.Release(ctx); err != nil {
		return err
	}
	for len(runs) > 0 {
		<-runs
	}
	time.Sleep(2 * time.Second) // nobody leads

	<-won
	after := start(ctx, services[1].elector)
	took := (<-runs).Sub(<-won)
	b.report.figure("failover with 1,000 jobs, until the first run", "ms", ms(took))
	b.report.atMost("failover with 1,000 jobs, ms", ms(took), 300)
	return after.Release(ctx)
}
