package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	everySecond = "* * * * * *"
	untilKnown  = 10 * time.Minute // limit for 1,000,000 jobs
)

// setup describes a service.
type setup struct {
	name    string   // of the election
	count   int      // of its jobs, which are called "job 0", "job 1", ...
	specs   []string // the jobs take turns with these
	run     func(scheduler.Run)
	hooks   scheduler.Hooks
	elected func(*election.Term) // may be nil
}

// service is a process that runs jobs.
type service struct {
	setup
	elector *election.Elector
	jobs    *scheduler.Scheduler
}

// newService makes a service that does not campaign yet. A run of its jobs only calls run.
func newService(p peer, s setup) service {
	e := must(election.New(p.locker, s.name, election.WithHooks(election.Hooks{Elected: s.elected})))
	made := service{s, e, must(scheduler.New(e, scheduler.WithHooks(s.hooks)))}
	jobs := make([]scheduler.Job, s.count)
	for i := range jobs {
		jobs[i] = made.job(fmt.Sprint("job ", i), s.specs[i%len(s.specs)])
	}
	check(made.jobs.Add(jobs...))
	return made
}

// job makes one more job, but does not add it.
func (s service) job(name, spec string) scheduler.Job {
	return scheduler.Job{Name: name, Spec: spec, Run: func(_ context.Context, run scheduler.Run) error {
		s.run(run)
		return nil
	}}
}

// during campaigns while fn runs. If the row ends in fn, the campaign ends with its Locker.
func (s service) during(ctx context.Context, fn func()) {
	c := campaign(ctx, s.elector)
	fn()
	check(c.Release(ctx))
}

// known waits until at least atLeast nodes know all jobs of the service, and returns the time.
func (s service) known(ctx context.Context, admins []redis.UniversalClient, atLeast int) time.Time {
	ctx, cancel := context.WithTimeoutCause(ctx, untilKnown, errors.New("the nodes do not know all jobs yet"))
	defer cancel()
	for {
		complete := 0
		for _, admin := range admins {
			if must(admin.ZCard(ctx, namesKey(s.name)).Result()) >= int64(s.count) {
				complete++
			}
		}
		if complete >= atLeast {
			return time.Now()
		}
		must(receive(ctx, time.After(10*time.Millisecond)))
	}
}

// distantSpecs returns specs of several kinds. None is due within half an hour.
func distantSpecs() []string {
	away := time.Now().UTC().Add(12 * time.Hour)
	m, h := away.Minute(), away.Hour()
	return []string{
		fmt.Sprintf("%d %d * * *", m, h), fmt.Sprintf("%d %d * * sun-sat", m, h),
		fmt.Sprintf("CRON_TZ=UTC %d %d */2 * *", m, h), fmt.Sprintf("5,6,7 %d %d * * *", m, h),
		fmt.Sprintf("%d %d 15 * *", m, h), "@every 999h",
	}
}
