package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	idleJobs     = 10_000
	recordedJobs = 1000
	keptRecords  = 50              // at least this many are kept for a job
	recordedRuns = 65              // of each job: older records are trimmed only now and then
	recordedIn   = 4 * time.Minute // limit for all runs
	keysAtOnce   = 10_000
)

// memory is how much memory the nodes use.
type memory struct{ largest float64 } // KiB, of the node that uses most

// memory measures what the nodes keep for jobs that have not run, that have run often, and that are forgotten.
func (b *bench) memory(ctx context.Context) {
	p := b.lockers(ctx, 1)[0]
	before := b.used(ctx)
	idle := newService(p, setup{name: nextName(), count: b.divided(idleJobs), specs: distantSpecs(), run: func(scheduler.Run) {}})
	idle.during(ctx, func() {
		idle.known(ctx, b.admins, nodes)
		b.quiet(ctx)
		b.reportMemory(ctx, "an idle job on a node, KiB", idle, before)
	})
	before = b.used(ctx)
	b.recorded(ctx, p, before)
}

// recorded measures jobs that have as many records as nodes keep.
func (b *bench) recorded(ctx context.Context, p peer, before memory) {
	n := b.divided(recordedJobs)
	var ended atomic.Int64
	enough := make(chan struct{}, 1)
	s := newService(p, setup{name: nextName(), count: n, specs: []string{everySecond}, run: func(scheduler.Run) {},
		hooks: scheduler.Hooks{Finished: func(scheduler.Record) {
			if ended.Add(1) == int64(n*recordedRuns) {
				enough <- struct{}{}
			}
		}}})
	s.during(ctx, func() {
		soon, cancel := context.WithTimeoutCause(ctx, recordedIn, errors.New("the jobs have not all of their records yet"))
		defer cancel()
		must(receive(soon, enough))
		for i := range n { // so that no run is open
			check(s.jobs.Remove(fmt.Sprint("job ", i)))
		}
		b.quiet(ctx)
		for i := range n {
			if kept := must(s.jobs.History(ctx, fmt.Sprint("job ", i), keptRecords)); len(kept) < keptRecords {
				check(fmt.Errorf("job %d has %d of %d records", i, len(kept), keptRecords))
			}
		}
		b.reportMemory(ctx, "a job with 50 records on a node, KiB", s, before)
		b.forget(ctx, s, before)
	})
}

// used returns how much memory the nodes use in total.
func (b *bench) used(ctx context.Context) (m memory) {
	for _, admin := range b.admins {
		used := must(admin.InfoMap(ctx, "memory").Result())["Memory"]["used_memory"]
		var bytes float64
		must(fmt.Sscan(used, &bytes))
		m.largest = max(m.largest, bytes/1024)
	}
	return m
}

// reportMemory reports what the node that keeps most keeps for each job of a service. Beside it is the growth of the
// largest used_memory, which includes buffers.
func (b *bench) reportMemory(ctx context.Context, figure string, s service, before memory) {
	grown := (b.used(ctx).largest - before.largest) / float64(s.count)
	var most float64
	for _, admin := range b.admins {
		most = max(most, kept(ctx, admin, s.name)/float64(s.count))
	}
	b.report.compare(figure, most, grown, most/grown, "growth of used_memory")
}

// kept returns the KiB that a node keeps for the jobs of an election.
func kept(ctx context.Context, admin redis.UniversalClient, election string) (kib float64) {
	for _, pattern := range []string{"*:" + election, "*:" + election + ":*"} {
		var cursor uint64
		for {
			keys, next, err := admin.Scan(ctx, cursor, pattern, keysAtOnce).Result()
			check(err)
			pipe := admin.Pipeline()
			var sizes []*redis.IntCmd
			for _, key := range keys {
				sizes = append(sizes, pipe.MemoryUsage(ctx, key, 0)) // 0: measure all elements, not a sample
			}
			if len(keys) > 0 {
				must(pipe.Exec(ctx))
			}
			for _, size := range sizes {
				kib += float64(size.Val()) / 1024
			}
			if cursor = next; cursor == 0 {
				break
			}
		}
	}
	return kib
}
