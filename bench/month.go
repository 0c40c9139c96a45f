package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/quorum"
	"github.com/redlockfx/redlockfx/internal/register"
)

const (
	monthOfHours = 31 * 24
	hourlyJobs   = 50
	monthName    = "month"
)

// month is of what is left on the nodes of jobs that tick for long. The ticks are a millisecond apart: what is
// kept does not depend on how far apart they are.
func (b *bench) month(ctx context.Context) error {
	q := quorum.New(b.admins, b.cluster.Addrs(), quorum.Config{Timeout: time.Second, Now: time.Now})
	r := register.New(register.Config{Quorum: q, Prefix: "redlock", Election: monthName, Longest: ttl})
	var plans []register.Plan
	for i := range hourlyJobs {
		plans = append(plans, register.Plan{Job: fmt.Sprint("job ", i), Text: "UTC 0 * * * *"})
	}
	promised := r.Promise(ctx, 1, time.Now(), plans)
	if err := promised[0].Err; err != nil {
		return err
	}
	tick := promised[0].Mark
	time.Sleep(time.Until(tick)) // it is two seconds ahead
	var early float64
	for i := range monthOfHours {
		tick = tick.Add(time.Millisecond)
		if err := b.tickOf(ctx, r, promised[0].Memories, plans, tick); err != nil {
			return err
		}
		if i == monthOfHours/4 {
			var err error
			if _, early, err = b.keptOf(ctx, plans[0].Job); err != nil {
				return err
			}
		}
	}
	keys, bytes, err := b.keptOf(ctx, plans[0].Job)
	b.report.figure("a job after a month of hourly ticks, a node", "keys", float64(keys))
	b.report.compare("", "KiB", bytes/1024, early/1024, bytes/early, "a week of them")
	b.report.atMost("what a job leaves after a month, of what it leaves after a week", bytes/early, 1.05)
	return errors.Join(err, q.Close(ctx))
}

// tickOf claims one tick of all jobs, and writes that the runs have ended.
func (b *bench) tickOf(
	ctx context.Context, r *register.Register, memories map[int]string, plans []register.Plan, tick time.Time,
) error {
	var claims []register.Claim
	var ends []register.End
	for _, p := range plans {
		record := register.Record{
			Slot: register.Slot{At: tick}, Run: "ABCDEFGHIJKLMNOPQRSTUVWXYZ", Attempt: 1, Token: 1, State: register.Claimed,
			Details: register.Details{By: "pod-7f9c6d5b4-x2x4z/1", Start: tick},
		}
		claims = append(claims, register.Claim{Job: p.Job, Record: record})
		record.State, record.End = register.OK, tick.Add(time.Second)
		ends = append(ends, register.End{Job: p.Job, Record: record, Own: true})
	}
	var errs []error
	for _, o := range r.Claim(ctx, 1, memories, claims) {
		errs = append(errs, o.Err)
	}
	return errors.Join(append(errs, r.Finish(ctx, ends)...)...)
}

// keptOf is what the first node keeps of a job.
func (b *bench) keptOf(ctx context.Context, job string) (keys int, bytes float64, err error) {
	for _, kind := range []string{"job", "runs"} {
		n, err := b.admins[0].MemoryUsage(ctx, fmt.Sprintf("{redlock}:%s:%s:%s", kind, monthName, job)).Result()
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		keys++
		bytes += float64(n)
	}
	return keys, bytes, nil
}
