package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	readJobs    = 10_000
	reads       = 11
	readIn      = 40 * time.Second // until the one tick of each job; the nodes know all jobs by then
	readJobsRun = 2 * time.Minute  // limit for all of them to run
)

// read measures a follower that reads the leader's jobs. Each job has run once.
func (b *bench) read(ctx context.Context) {
	n, name := b.divided(readJobs), nextName()
	leader := b.lockers(ctx, 1)[0]
	p, trips := b.openWatched(ctx)
	var ended atomic.Int64
	all := make(chan struct{}, 1)
	made := setup{name: name, count: n, specs: []string{time.Now().Add(readIn).UTC().Format("5 4 15 2 1 *")}, // second minute hour day month
		run: func(scheduler.Run) {},
		hooks: scheduler.Hooks{Finished: func(scheduler.Record) {
			if ended.Add(1) == int64(n) {
				all <- struct{}{}
			}
		}}}
	newService(leader, made).during(ctx, func() {
		soon, cancel := context.WithTimeoutCause(ctx, readJobsRun, errors.New("not all jobs ran"))
		defer cancel()
		must(receive(soon, all))
		follower := newService(p, made)
		follower.during(ctx, func() {
			time.Sleep(ttl/4 + time.Second) // it has found the leader
			b.readAll(ctx, follower, trips)
			b.readByName(ctx, follower, trips)
		})
	})
}

// readAll measures reading all jobs at once.
func (b *bench) readAll(ctx context.Context, s service, trips *trips) {
	var took, counts []float64
	calls, micros := b.scriptsDuring(ctx, func() {
		took, counts = timed(trips, func() {
			if listed := must(s.jobs.Jobs(ctx)); len(listed) != s.count {
				check(fmt.Errorf("%d jobs are listed, there are %d", len(listed), s.count))
			}
		})
	})
	b.report.figure("Jobs of 10,000, ms", quantile(took, 50))
	b.report.figure("Jobs of 10,000, round trips", quantile(counts, 50))
	b.report.figure("Jobs of 10,000, a script on a node, ms", float64(micros)/float64(calls)/1000)
}

// timed calls fn several times, and returns what each call took, in ms and in round trips.
func timed(trips *trips, fn func()) (took, counts []float64) {
	for range reads {
		start := time.Now()
		fn()
		end := time.Now()
		took = append(took, ms(end.Sub(start)))
		counts = append(counts, float64(trips.between(start, end)))
	}
	return took, counts
}
