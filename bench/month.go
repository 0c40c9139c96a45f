package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/register"
)

const (
	weekOfHours  = 7 * 24
	monthOfHours = 31 * 24
	hourlyJobs   = 50
	monthName    = "month"
)

// month measures what is left on a node of jobs that tick for long. The ticks are a millisecond apart: what is kept
// does not depend on that.
func (b *bench) month(ctx context.Context) {
	q := quorum.New(b.admins, b.cluster.Addrs(), quorum.Config{Timeout: time.Second, Now: time.Now})
	r := register.New(register.Config{Quorum: q, Prefix: "redlock", Election: monthName, List: fmt.Sprintf("%012d %03d", ttl.Milliseconds(), nodes)})
	var plans []register.Plan
	for i := range hourlyJobs {
		plans = append(plans, register.Plan{Job: fmt.Sprint("job ", i), Text: "UTC 0 * * * *"})
	}
	promised := r.Promise(ctx, 1, time.Now(), plans)[0]
	check(promised.Err)
	time.Sleep(time.Until(promised.Mark)) // it is two seconds ahead
	var week float64
	for i := range monthOfHours {
		at := promised.Mark.Add(time.Duration(1+i) * time.Millisecond)
		tickAll(ctx, r, promised.Memories, plans, at)
		if i == weekOfHours {
			week = b.kept(ctx)
		}
	}
	month := b.kept(ctx)
	check(q.Close(ctx))
	b.report.compare("a job on a node, KiB", month, week, month/week, "after a week of ticks")
}

// tickAll claims one tick of all jobs and records the end of the runs.
func tickAll(ctx context.Context, r *register.Register, memories map[int]string, plans []register.Plan, at time.Time) {
	var claims []register.Claim
	var ends []register.End
	for _, p := range plans {
		record := register.Record{
			Slot: register.Slot{At: at}, Run: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Attempt: 1, Token: 1, State: register.Claimed,
			Details: register.Details{By: "pod-7f9c6d5b4-x2x4z/1", Start: at},
		}
		claims = append(claims, register.Claim{Job: p.Job, Record: record})
		record.State, record.End = register.OK, at.Add(time.Second)
		ends = append(ends, register.End{Job: p.Job, Record: record, Own: true})
	}
	for _, o := range r.Claim(ctx, 1, memories, claims) {
		check(o.Err)
	}
	for _, err := range r.Finish(ctx, ends) {
		check(err)
	}
}

// kept returns the KiB that the first node keeps for a job.
func (b *bench) kept(ctx context.Context) (kib float64) {
	keys := b.admins[0].Scan(ctx, 0, "*:"+monthName+"*", 10_000).Iterator()
	for keys.Next(ctx) {
		kib += float64(must(b.admins[0].MemoryUsage(ctx, keys.Val()).Result())) / 1024 / hourlyJobs
	}
	check(keys.Err())
	return kib
}
