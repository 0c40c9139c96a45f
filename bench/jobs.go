package main

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	manyJobs     = 100_000
	restFor      = 20 * time.Second
	jobFollowers = 10
	followedJobs = 1000
)

// jobs measures the cost of jobs that are not due.
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

func (b *bench) manyJobs(ctx context.Context) {
	locker := b.lockers(ctx, 1)[0]
	n := b.divided(manyJobs)
	before, start := heap(), time.Now()
	s := newService(locker, setup{name: nextName(), count: n, specs: distantSpecs(), run: func(scheduler.Run) {}})
	b.report.figure("adding 100,000 jobs, s", time.Since(start).Seconds())
	b.report.figure("a job of a follower, KiB", (heap()-before)/float64(n))
	s.during(ctx, func() {
		s.known(ctx, b.admins, nodes)
		b.quiet(ctx) // the leader repeats requests that busy nodes did not answer in time
		b.report.figure("a job of the leader, KiB", (heap()-before)/float64(n))
		used := processorTime()
		time.Sleep(restFor)
		b.report.figure("leading with 100,000 jobs, % of a core", 100*float64(processorTime()-used)/float64(restFor))
	})
}

// heap returns how much of the heap is in use, in KiB.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / 1024
}

// followJobs measures processes that have jobs and do not lead. The leader's commands are subtracted.
func (b *bench) followJobs(ctx context.Context) {
	name := nextName()
	var alone float64
	var campaigns []hold
	for i, p := range b.lockers(ctx, 1+jobFollowers) {
		s := newService(p, setup{name: name, count: followedJobs, specs: distantSpecs(), run: func(scheduler.Run) {}})
		campaigns = append(campaigns, campaign(ctx, s.elector))
		if i == 0 {
			s.known(ctx, b.admins, nodes)
			b.quiet(ctx)
			alone = b.rate(ctx)
		}
	}
	time.Sleep(ttl/4 + time.Second) // all have found the leader
	b.report.figure("commands a second of a follower with jobs", (b.rate(ctx)-alone)/jobFollowers)
	for _, c := range slices.Backward(campaigns) {
		check(c.Release(ctx))
	}
}
