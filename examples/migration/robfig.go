package migration

import (
	"context"
	"log"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/robfig/cron/v3"

	"github.com/redlockfx/redlockfx/scheduler"
)

// robfigBefore cleans up at 03:00, in every process that calls it; the caller calls Start and Stop.
func robfigBefore(clean func()) (*cron.Cron, error) {
	jobs := cron.New(cron.WithLocation(time.UTC),
		cron.WithChain(cron.SkipIfStillRunning(cron.DefaultLogger), cron.Recover(cron.DefaultLogger)))
	_, err := jobs.AddFunc("0 3 * * *", clean)
	return jobs, err
}

// robfigAfter cleans up at 03:00, in one of the processes that call it.
func robfigAfter(jobs *scheduler.Scheduler, clean func()) error {
	return jobs.Add(scheduler.Job{Name: "clean", Spec: "0 3 * * *", Run: scheduler.WrapCron(cron.FuncJob(clean))})
}

// robfigRedsyncBefore cleans up at 03:00, if it gets the lock.
func robfigRedsyncBefore(locks *redsync.Redsync, clean func(context.Context) error) (*cron.Cron, error) {
	jobs := cron.New(cron.WithLocation(time.UTC))
	_, err := jobs.AddFunc("0 3 * * *", func() {
		ctx := context.Background()
		mutex := locks.NewMutex("clean", redsync.WithTries(1), redsync.WithExpiry(10*time.Minute))
		if err := mutex.LockContext(ctx); err != nil {
			return // another replica has it, or too few nodes answered
		}
		defer func() { _, _ = mutex.UnlockContext(ctx) }()
		if err := clean(ctx); err != nil {
			log.Print(err)
		}
	})
	return jobs, err
}

// robfigRedsyncAfter cleans up at 03:00, and once more if that fails.
func robfigRedsyncAfter(jobs *scheduler.Scheduler, clean func(context.Context) error) error {
	return jobs.Add(scheduler.Job{
		Name: "clean", Spec: "0 3 * * *", Timeout: 10 * time.Minute, Retry: scheduler.Retry{Times: 1},
		Run: func(ctx context.Context, _ scheduler.Run) error { return clean(ctx) },
	})
}
