package main

import (
	"context"
	"runtime"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	mostJobs    = 1_000_000
	besideJobs  = 1_000
	changes     = 100
	changeEvery = 50 * time.Millisecond
)

// change measures a leader of very many jobs to which one more is added and then removed. Most of the processor time
// goes into messages to and from the nodes. It is compared with that of a leader of few jobs.
func (b *bench) change(ctx context.Context) {
	beside := b.changed(ctx, besideJobs)
	of := b.changed(ctx, b.divided(mostJobs))
	b.report.latency("Add to 1,000,000 jobs", of.added, nil, "")
	b.report.latency("Remove of 1,000,000 jobs", of.removed, nil, "")
	b.report.compare("a change of 1,000,000 jobs, CPU ms", of.processor, beside.processor, of.processor/beside.processor,
		"of 1,000 jobs")
}

// changing is the cost of the changes.
type changing struct {
	added, removed []time.Duration
	processor      float64 // time of a change, in milliseconds, without that of an idle leader
}

func (b *bench) changed(ctx context.Context, count int) (took changing) {
	s := newService(b.lockers(ctx, 1)[0], setup{name: nextName(), count: count, specs: distantSpecs(),
		run: func(scheduler.Run) {}})
	s.during(ctx, func() {
		s.known(ctx, b.admins, nodes)
		b.quiet(ctx)
		runtime.GC() // marking a million jobs takes seconds, which must not count in either half
		before := processorTime()
		time.Sleep(2 * changes * changeEvery)
		start := processorTime()
		idle := start - before
		one := s.job("one more", distantSpecs()[0])
		for range changes {
			start := time.Now()
			check(s.jobs.Add(one))
			took.added = append(took.added, time.Since(start))
			time.Sleep(changeEvery)
			start = time.Now()
			check(s.jobs.Remove(one.Name))
			took.removed = append(took.removed, time.Since(start))
			time.Sleep(changeEvery)
		}
		took.processor = ms(processorTime()-start-idle) / (2 * changes)
	})
	return took
}
