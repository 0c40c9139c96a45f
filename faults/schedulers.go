package main

import (
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"sync/atomic"
	"time"

	gocronlock "github.com/go-co-op/gocron-redis-lock/v2"
	"github.com/go-co-op/gocron/v2"
	"github.com/go-redsync/redsync/v4"
	"github.com/hibiken/asynq"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/robfig/cron/v3"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// scheduleRedlockfx is this library. Its catch-up is the default: the newest of the ticks that came while nobody led.
func scheduleRedlockfx(ctx context.Context, r *replica) error {
	locker, err := redlock.Open(r.Addrs)
	if err != nil {
		return err
	}
	elector, err := election.New(locker, name)
	if err != nil {
		return err
	}
	jobs, err := scheduler.New(elector)
	if err != nil {
		return err
	}
	err = jobs.Add(scheduler.Job{Name: "job", Spec: spec, Run: func(_ context.Context, run scheduler.Run) error {
		r.workFor(run.Tick)
		return nil
	}})
	if err != nil {
		return err
	}
	err = elector.Run(ctx)
	return errors.Join(err, locker.Close(context.WithoutCancel(ctx)))
}

// scheduleGocron runs gocron until ctx is done.
func (r *replica) scheduleGocron(ctx context.Context, option gocron.SchedulerOption) error {
	s, err := gocron.NewScheduler(option)
	if err != nil {
		return err
	}
	if _, err = s.NewJob(gocron.CronJob(spec, true), gocron.NewTask(r.work), gocron.WithName("job")); err != nil {
		return err
	}
	s.Start()
	<-ctx.Done()
	return s.Shutdown()
}

// scheduleGocronLocker takes a lock of gocron-redis-lock for each run, with its default options.
func scheduleGocronLocker(ctx context.Context, r *replica) error {
	locker, err := gocronlock.NewRedisLocker(r.clients()[0], gocronlock.WithTries(1))
	if err != nil {
		return err
	}
	return r.scheduleGocron(ctx, gocron.WithDistributedLocker(locker))
}

// elector is leadership by a lock of redsync: gocron has none for Redis.
type elector struct{ leads atomic.Bool }

func (e *elector) IsLeader(context.Context) error {
	if !e.leads.Load() {
		return errors.New("another replica leads")
	}
	return nil
}

func scheduleGocronElector(ctx context.Context, r *replica) error {
	e := new(elector)
	done := make(chan struct{})
	go func() { // ends with ctx
		defer close(done)
		holdWithRedsync(ctx, r.redsync(), func(held context.Context) {
			e.leads.Store(true)
			<-held.Done()
			e.leads.Store(false)
		})
	}()
	err := r.scheduleGocron(ctx, gocron.WithDistributedElector(e))
	<-done
	return err
}

// scheduleCron takes a lock of redsync for each tick, whose name has the tick, and keeps it.
func scheduleCron(ctx context.Context, r *replica) error {
	locks := r.redsync()
	c := cron.New(cron.WithSeconds())
	_, err := c.AddFunc(spec, func() {
		tick := time.Now().Truncate(tickEvery)
		if locks.NewMutex("job:"+tick.UTC().Format(time.RFC3339), redsync.WithTries(1)).LockContext(ctx) == nil {
			r.workFor(tick)
		}
	})
	if err != nil {
		return err
	}
	c.Start()
	<-ctx.Done()
	<-c.Stop().Done()
	return nil
}

// scheduleAsynq has a scheduler and a server in each replica. A task is unique for as long as a tick.
func scheduleAsynq(ctx context.Context, r *replica) error {
	to := asynq.RedisClientOpt{Addr: r.Addrs[0]}
	s := asynq.NewScheduler(to, &asynq.SchedulerOpts{LogLevel: asynq.FatalLevel})
	if _, err := s.Register("@every 2s", asynq.NewTask("job", nil), asynq.Unique(tickEvery)); err != nil {
		return err
	}
	server := asynq.NewServer(to, asynq.Config{LogLevel: asynq.FatalLevel})
	handler := asynq.HandlerFunc(func(ctx context.Context, _ *asynq.Task) error {
		r.work(ctx)
		return nil
	})
	if err := errors.Join(s.Start(), server.Start(handler)); err != nil {
		return err
	}
	<-ctx.Done()
	s.Shutdown()
	server.Shutdown()
	return nil
}

// tickArgs are those of River's job.
type tickArgs struct {
	Tick time.Time `json:"tick"`
}

func (tickArgs) Kind() string { return "tick" }

// ticks are River's schedule.
type ticks struct{}

func (ticks) Next(current time.Time) time.Time { return current.Truncate(tickEvery).Add(tickEvery) }

// scheduleRiver inserts a job at each tick. The tick is that at or before the time of the insert.
func scheduleRiver(ctx context.Context, r *replica) error {
	log.SetOutput(io.Discard)
	pool, err := pgxpool.New(ctx, postgresURL(r.Addrs[0]))
	if err != nil {
		return err
	}
	defer pool.Close()
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(_ context.Context, job *river.Job[tickArgs]) error {
		r.workFor(job.Args.Tick)
		return nil
	}))
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		ID:      r.id(),
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 10}},
		Workers: workers, Logger: slog.New(slog.DiscardHandler),
		PeriodicJobs: []*river.PeriodicJob{river.NewPeriodicJob(ticks{}, func() (river.JobArgs, *river.InsertOpts) {
			return tickArgs{time.Now().Truncate(tickEvery)}, nil
		}, nil)},
	})
	if err != nil {
		return err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	<-ctx.Done()
	return client.Stop(context.WithoutCancel(ctx))
}

func postgresURL(addr string) string {
	return "postgres://postgres@" + addr + "/postgres?sslmode=disable"
}
