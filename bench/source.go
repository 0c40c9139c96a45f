package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	sourceRows  = 100_000
	sourceLoads = 10
	rowSpec     = "@every 998h0m0s" // of a row that has changed, as Status has it
)

// source measures a leader whose jobs are rows, beside a job that is due every second.
func (b *bench) source(ctx context.Context) {
	n := b.divided(sourceRows)
	var latest atomic.Int64 // ns from a tick to its run
	terms := make(chan *election.Term, 1)
	s := newService(b.lockers(ctx, 1)[0], setup{name: nextName(), count: 1, specs: []string{everySecond}, run: func(run scheduler.Run) {
		latest.Store(max(latest.Load(), int64(time.Since(run.Tick))))
	}, elected: func(t *election.Term) { offer(terms, t) }})
	before := heap()
	specs := distantSpecs()
	var changed atomic.Int64 // how many rows have another spec
	check(s.jobs.AddSource(scheduler.Source{Name: "rows", Every: time.Hour, Load: func(context.Context) ([]scheduler.Job, error) {
		rows := make([]scheduler.Job, n)
		for i := range rows {
			rows[i] = s.job(fmt.Sprint("row ", i), specs[i%len(specs)])
			if int64(i) < changed.Load() {
				rows[i].Spec = rowSpec
			}
		}
		return rows, nil
	}}))
	s.during(ctx, func() {
		start := must(receive(ctx, terms)).Since()
		s.count = n + 2 // with the source
		known := s.known(ctx, b.admins, nodes/2+1)
		b.report.figure("100,000 rows, until a majority has them stored, s", known.Sub(start).Seconds())
		s.known(ctx, b.admins, nodes)
		b.report.figure("a tick beside the first load, latest, ms", ms(time.Duration(latest.Swap(0))))
		b.report.figure("a row of the leader, KiB", (heap()-before)/float64(n))
		var loads, changes []time.Duration
		for range sourceLoads {
			rec := must(s.jobs.TriggerAndWait(ctx, "rows"))
			loads = append(loads, rec.End.Sub(rec.Start))
			row := fmt.Sprint("rows/row ", changed.Add(1)-1)
			asked := time.Now()
			check(s.jobs.Refresh(ctx, "rows"))
			for must(s.jobs.Status(ctx, row)).Spec != rowSpec {
				time.Sleep(time.Millisecond)
			}
			changes = append(changes, time.Since(asked))
		}
		b.report.figure("a load of 100,000 rows, p50 ms", ms(quantile(loads, 50)))
		b.report.figure("one row of 100,000 changed, Refresh to stored, p50 ms", ms(quantile(changes, 50)))
		b.report.figure("a tick beside further loads, latest, ms", ms(time.Duration(latest.Load())))
	})
}
