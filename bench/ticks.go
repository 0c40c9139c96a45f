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
	tickSamples   = 40 // of one job a second
	triggers      = 40
	atOnce        = 10_000
	failoverJobs  = 1000
	everySecond   = "* * * * * *"
	leaderless    = 2 * time.Second // between the leaders of a failover
	untilAccepted = 3 * time.Second // a job that the nodes have never seen does not run in its first two seconds
)

// service is a process that runs jobs.
type service struct {
	elector *election.Elector
	jobs    *scheduler.Scheduler
}

// newService adds n jobs whose specs take turns. Their run only calls fn.
func newService(p peer, name string, n int, specs []string, fn func(scheduler.Run), opts ...election.Option) service {
	e := must(election.New(p.locker, name, opts...))
	s := must(scheduler.New(e))
	run := func(_ context.Context, run scheduler.Run) error {
		fn(run)
		return nil
	}
	jobs := make([]scheduler.Job, n)
	for i := range jobs {
		jobs[i] = scheduler.Job{Name: fmt.Sprint("job ", i), Spec: specs[i%len(specs)], Run: run}
	}
	check(s.Add(jobs...))
	return service{e, s}
}

// during campaigns while fn runs. If the row ends in fn, the campaign ends with its Locker.
func (s service) during(ctx context.Context, fn func()) {
	c := campaign(ctx, s.elector)
	fn()
	check(c.Release(ctx))
}

// ticks measures how long after it is due a run starts.
func (b *bench) ticks(ctx context.Context) {
	all := b.lockers(ctx, 2)
	b.ticking(ctx, all[0])
	b.triggering(ctx, all)
	b.atOnce(ctx, all[0])
	b.failover(ctx, all)
}

func (b *bench) ticking(ctx context.Context, p peer) {
	late := make(chan time.Duration, tickSamples)
	newService(p, nextName(), 1, []string{everySecond}, func(run scheduler.Run) {
		offer(late, time.Since(run.Tick))
	}).during(ctx, func() {
		took := make([]time.Duration, tickSamples)
		for i := range took {
			took[i] = must(receive(ctx, late))
		}
		b.report.latency("tick to run", took, nil, "")
	})
}

// triggering is of runs that another process than the leader asks for.
func (b *bench) triggering(ctx context.Context, all []peer) {
	name := nextName()
	began := make(chan time.Time, 1)
	var services [2]service
	for i := range services {
		services[i] = newService(all[i], name, 1, []string{"@yearly"}, func(scheduler.Run) { began <- time.Now() })
	}
	services[0].during(ctx, func() {
		time.Sleep(untilAccepted)
		took := make([]time.Duration, triggers)
		for i := range took {
			start := time.Now()
			check(services[1].jobs.Trigger(ctx, "job 0"))
			took[i] = must(receive(ctx, began)).Sub(start)
			time.Sleep(20 * time.Millisecond) // its end is recorded
		}
		b.report.latency("Trigger to run", took, nil, "")
	})
}

func (b *bench) atOnce(ctx context.Context, p peer) {
	at := time.Now().Add(40 * time.Second)
	spec := at.UTC().Format("5 4 15 2 1 *") // second minute hour day month
	var ran atomic.Int64
	last := make(chan time.Duration, 1)
	newService(p, nextName(), atOnce, []string{spec}, func(run scheduler.Run) {
		if ran.Add(1) == atOnce {
			last <- time.Since(run.Tick)
		}
	}).during(ctx, func() {
		ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("not all jobs ran"))
		defer cancel()
		b.report.figure("10,000 jobs due at once, s", must(receive(ctx, last)).Seconds())
	})
}

// failover is from the election of a new leader to its first run. The jobs' ticks came while nobody led.
func (b *bench) failover(ctx context.Context, all []peer) {
	name := nextName()
	var services [2]service
	runs, elected := make(chan time.Time, 1), make(chan time.Time, 2)
	for i := range services {
		services[i] = newService(all[i], name, failoverJobs, []string{everySecond},
			func(scheduler.Run) { offer(runs, time.Now()) },
			election.WithHooks(election.Hooks{Elected: func(*election.Term) { elected <- time.Now() }}))
	}
	services[0].during(ctx, func() {
		must(receive(ctx, elected))
		time.Sleep(untilAccepted + leaderless) // the nodes know the jobs, and have records of them
	})
	must(receive(ctx, runs))
	time.Sleep(leaderless)
	services[1].during(ctx, func() {
		won := must(receive(ctx, elected))
		b.report.figure("failover to first run, 1,000 jobs, ms", ms(must(receive(ctx, runs)).Sub(won)))
	})
}
