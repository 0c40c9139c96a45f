package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	manyJobs     = 100_000
	manyNext     = 200_000
	restFor      = 20 * time.Second
	jobFollowers = 10
)

// jobs is of what jobs cost that are not due.
func (b *bench) jobs(ctx context.Context) error {
	if err := b.nextTicks(); err != nil {
		return err
	}
	return errors.Join(withLockers(ctx, b.cluster.Addrs(), 1, func(all []oursPeer) error {
		return b.manyJobs(ctx, all[0])
	}), b.followJobs(ctx))
}

// specs are mixed, and name no instant within half an hour from now.
func specs() []string {
	away := time.Now().UTC().Add(12 * time.Hour)
	m, h := away.Minute(), away.Hour()
	return []string{
		fmt.Sprintf("%d %d * * *", m, h), fmt.Sprintf("%d %d * * sun-sat", m, h),
		fmt.Sprintf("CRON_TZ=UTC %d %d */2 * *", m, h), fmt.Sprintf("5,6,7 %d %d * * *", m, h),
		fmt.Sprintf("%d %d 15 * *", m, h), "@every 999h",
	}
}

func (b *bench) nextTicks() error {
	all := []string{
		"*/5 * * * *", "0 3 * * *", "CRON_TZ=Europe/Rome 30 2 * * mon-fri", "@every 90s", "0 0 1 * *", "15,45 9-17 * * *",
		"CRON_TZ=America/New_York 0 0 1 1 mon", "CRON_TZ=Australia/Lord_Howe */10 * * * * *",
	}
	var took time.Duration
	for i := range manyNext {
		schedule, err := scheduler.Parse(all[i%len(all)], nil)
		if err != nil {
			return err
		}
		from := time.Unix(1_700_000_000+int64(i)*7919, 0)
		began := time.Now()
		for range 10 {
			from = schedule.Next(from)
		}
		took += time.Since(began)
	}
	next := float64(took) / manyNext / 10 / float64(time.Microsecond)
	b.report.figure("the next tick of a spec", "µs", next)
	b.report.atMost("the next tick of a spec, µs", next, 2)
	return nil
}

func (b *bench) manyJobs(ctx context.Context, p oursPeer) error {
	s, err := newService(p, nextName())
	if err != nil {
		return err
	}
	ran := make(chan struct{}, 1)
	before := heap()
	began := time.Now()
	for _, j := range jobsOf(manyJobs, specs(), func(context.Context, scheduler.Run) error {
		ran <- struct{}{}
		return nil
	}) {
		err = errors.Join(err, s.jobs.Add(j)) // one at a time
	}
	added := time.Since(began)
	if err != nil {
		return err
	}
	following := heap() - before
	campaign := start(ctx, s.elector)
	if err := promised(ctx, s, ran); err != nil {
		return errors.Join(err, campaign.Release(ctx))
	}
	leading := heap() - before
	used, err := processorTime()
	time.Sleep(restFor)
	after, err2 := processorTime()
	idle := 100 * float64(after-used) / float64(restFor)
	b.report.figure("adding 100,000 jobs", "s", added.Seconds())
	b.report.figure("", "KiB a job", following/manyJobs)
	b.report.figure("leading with them, none due", "KiB a job", leading/manyJobs)
	b.report.figure("", "% of a core", idle)
	b.report.atMost("adding 100,000 jobs, s", added.Seconds(), 3)
	b.report.atMost("memory of a job, KiB", max(following, leading)/manyJobs, 3)
	b.report.atMost("leading with 100,000 jobs, % of a core", idle, 1)
	return errors.Join(err, err2, campaign.Release(ctx))
}

// heap is what is in use, in KiB.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / 1024
}

// jobsOf makes n jobs whose specs take turns.
func jobsOf(n int, specs []string, run func(context.Context, scheduler.Run) error) []scheduler.Job {
	jobs := make([]scheduler.Job, n)
	for i := range jobs {
		jobs[i] = scheduler.Job{Name: fmt.Sprint("job ", i), Spec: specs[i%len(specs)], Run: run}
	}
	return jobs
}

// promised waits until the leader has had all jobs promised: then the first one is run that was asked for.
func promised(ctx context.Context, s service, ran <-chan struct{}) error {
	for {
		err := s.jobs.Trigger(ctx, "job 0")
		if err == nil {
			break
		}
		if !errors.Is(err, scheduler.ErrUnknownJob) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	select {
	case <-ran:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// followJobs is of processes that have jobs and do not lead. What the leader is answered is left out.
func (b *bench) followJobs(ctx context.Context) error {
	leader, seen, err := openSeen(b.cluster.Addrs())
	if err != nil {
		return err
	}
	var each float64
	err = withPeers(ctx, []peer{leader}, func() error {
		return withLockers(ctx, b.cluster.Addrs(), jobFollowers, func(followers []oursPeer) error {
			var leaders int
			total, err := b.followingWithJobs(ctx, append([]oursPeer{leader}, followers...), func() {
				before := len(seen.sorted())
				time.Sleep(followFor)
				leaders = len(seen.sorted()) - before
			})
			each = float64(total-leaders) / jobFollowers / followFor.Seconds()
			return err
		})
	})
	b.report.figure("a follower with 1,000 jobs", "commands/s", each)
	b.report.atMost("commands of a follower with jobs, a second over all nodes", each, 0.15)
	return err
}

// followingWithJobs has the first of all lead and the others follow, all with the same jobs, and returns how many
// requests all of them send during watch.
func (b *bench) followingWithJobs(ctx context.Context, all []oursPeer, watch func()) (total int, err error) {
	name := nextName()
	ran := make(chan struct{}, 1)
	var campaigns []*campaign
	defer func() {
		for _, c := range slices.Backward(campaigns) {
			err = errors.Join(err, c.Release(ctx))
		}
	}()
	for i, p := range all {
		s, err := newService(p, name)
		if err != nil {
			return 0, err
		}
		if err := s.jobs.Add(jobsOf(failingFor, specs(), func(context.Context, scheduler.Run) error {
			ran <- struct{}{}
			return nil
		})...); err != nil {
			return 0, err
		}
		campaigns = append(campaigns, start(ctx, s.elector))
		if i > 0 {
			continue
		}
		if err := promised(ctx, s, ran); err != nil {
			return 0, err
		}
	}
	time.Sleep(ttl/4 + time.Second) // all have found the leader
	sent, err := b.requestsDuring(ctx, func() error {
		watch()
		return nil
	})
	return sum(sent), err
}
