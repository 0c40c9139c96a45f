package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	manyJobs     = 100_000
	restFor      = 20 * time.Second
	jobFollowers = 10
	followedJobs = 1000
)

// jobs measures what jobs cost that are not due.
func (b *bench) jobs(ctx context.Context) {
	b.nextTicks()
	b.manyJobs(ctx)
	b.followJobs(ctx)
}

func (b *bench) nextTicks() {
	const starts, ticks = 20_000, 10
	specs := []string{
		"*/5 * * * *", "0 3 * * *", "CRON_TZ=Europe/Rome 30 2 * * mon-fri", "@every 90s", "0 0 1 * *", "15,45 9-17 * * *",
		"CRON_TZ=America/New_York 0 0 1 1 mon", "CRON_TZ=Australia/Lord_Howe */10 * * * * *",
	}
	start := time.Now()
	for _, spec := range specs {
		schedule := must(scheduler.Parse(spec, nil))
		for i := range starts {
			tick := time.Unix(1_700_000_000+int64(i)*7919, 0)
			for range ticks {
				tick = schedule.Next(tick)
			}
		}
	}
	each := time.Since(start) / time.Duration(starts*ticks*len(specs))
	b.report.figure("next tick of a spec, µs", each.Seconds()*1e6)
}

// distantSpecs are mixed, and none is due within half an hour.
func distantSpecs() []string {
	away := time.Now().UTC().Add(12 * time.Hour)
	m, h := away.Minute(), away.Hour()
	return []string{
		fmt.Sprintf("%d %d * * *", m, h), fmt.Sprintf("%d %d * * sun-sat", m, h),
		fmt.Sprintf("CRON_TZ=UTC %d %d */2 * *", m, h), fmt.Sprintf("5,6,7 %d %d * * *", m, h),
		fmt.Sprintf("%d %d 15 * *", m, h), "@every 999h",
	}
}

func (b *bench) manyJobs(ctx context.Context) {
	locker := b.lockers(ctx, 1)[0]
	ran := make(chan struct{}, 1)
	before, start := heap(), time.Now()
	s := newService(locker, nextName(), manyJobs, distantSpecs(), func(scheduler.Run) { offer(ran, struct{}{}) })
	b.report.figure("adding 100,000 jobs, s", time.Since(start).Seconds())
	b.report.figure("a job of a follower, KiB", (heap()-before)/manyJobs)
	s.during(ctx, func() {
		s.accepted(ctx, ran)
		b.quiet(ctx) // the leader tries again what busy nodes did not answer in time
		b.report.figure("a job of the leader, KiB", (heap()-before)/manyJobs)
		used := processorTime()
		time.Sleep(restFor)
		b.report.figure("leading with 100,000 jobs, % of a core", 100*float64(processorTime()-used)/float64(restFor))
	})
}

// heap returns what is in use, in KiB.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / 1024
}

// accepted waits until the nodes have all jobs of the leader, by when a run that was triggered starts.
func (s service) accepted(ctx context.Context, ran <-chan struct{}) {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("the nodes do not have all jobs yet"))
	defer cancel()
	for {
		err := s.jobs.Trigger(ctx, "job 0")
		if err == nil {
			break
		}
		check(context.Cause(ctx))
		if !errors.Is(err, scheduler.ErrUnknownJob) && !errors.Is(err, redlock.ErrNoQuorum) { // the nodes are busy
			check(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	must(receive(ctx, ran))
}

// followJobs measures processes that have jobs and do not lead. What the leader sends is left out.
func (b *bench) followJobs(ctx context.Context) {
	name := nextName()
	ran := make(chan struct{}, 1)
	var alone float64
	var campaigns []hold
	for i, p := range b.lockers(ctx, 1+jobFollowers) {
		s := newService(p, name, followedJobs, distantSpecs(), func(scheduler.Run) { offer(ran, struct{}{}) })
		campaigns = append(campaigns, campaign(ctx, s.elector))
		if i == 0 {
			s.accepted(ctx, ran)
			alone = b.rate(ctx)
		}
	}
	time.Sleep(ttl/4 + time.Second) // all have found the leader
	b.report.figure("commands a second of a follower with jobs", (b.rate(ctx)-alone)/jobFollowers)
	for _, c := range slices.Backward(campaigns) {
		check(c.Release(ctx))
	}
}
