package migration

import (
	"context"
	"time"

	redislock "github.com/go-co-op/gocron-redis-lock/v2"
	"github.com/go-co-op/gocron/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/adapters/gocronlock"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/scheduler"
)

// gocronLockerBefore makes a report at 06:30; the caller calls Start, and at the end Shutdown.
func gocronLockerBefore(client redis.UniversalClient, report func(context.Context) error) (gocron.Scheduler, error) {
	locker, err := redislock.NewRedisLocker(client, redislock.WithTries(1), redislock.WithExpiry(10*time.Minute))
	if err != nil {
		return nil, err
	}
	jobs, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker), gocron.WithLocation(time.UTC))
	if err != nil {
		return nil, err
	}
	_, err = jobs.NewJob(gocron.CronJob("30 6 * * *", false), gocron.NewTask(report), gocron.WithName("report"))
	return jobs, err
}

// gocronLockerAfter makes a report at 06:30; the caller calls elector.Run, and ends its context to stop.
func gocronLockerAfter(elector *election.Elector, report func(context.Context) error) (*scheduler.Scheduler, error) {
	jobs, err := scheduler.New(elector) // from election.New(locker, "reports"): one for all jobs
	if err != nil {
		return nil, err
	}
	return jobs, jobs.Add(scheduler.Job{
		Name: "report", Spec: "30 6 * * *", Timeout: 10 * time.Minute,
		Run: func(ctx context.Context, _ scheduler.Run) error { return report(ctx) },
	})
}

// gocronElectorBefore polls every 5 minutes from its start, if elector says that this process leads.
func gocronElectorBefore(elector gocron.Elector, poll func(context.Context) error) (gocron.Scheduler, error) {
	jobs, err := gocron.NewScheduler(gocron.WithDistributedElector(elector))
	if err != nil {
		return nil, err
	}
	_, err = jobs.NewJob(gocron.DurationJob(5*time.Minute), gocron.NewTask(poll),
		gocron.WithSingletonMode(gocron.LimitModeReschedule))
	return jobs, err
}

// gocronElectorAfter polls at every fifth minute of the clock, if the elector of jobs leads.
func gocronElectorAfter(jobs *scheduler.Scheduler, poll func(context.Context) error) error {
	return jobs.Add(scheduler.Job{
		Name: "poll", Spec: "@every 5m", Overlap: scheduler.Skip, CatchUp: scheduler.CatchUpNone(),
		Run: func(ctx context.Context, _ scheduler.Run) error { return poll(ctx) },
	})
}

// gocronElectorBetween polls at gocron's ticks, if elector leads.
func gocronElectorBetween(elector *election.Elector, poll func(context.Context) error) (gocron.Scheduler, error) {
	return gocronElectorBefore(gocronlock.Elector(elector), poll)
}
