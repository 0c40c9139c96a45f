package main

import (
	"context"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	mostJobs    = 1_000_000
	changes     = 100
	changeEvery = 50 * time.Millisecond
)

// change measures a leader of very many jobs that gets one more, and loses it again.
func (b *bench) change(ctx context.Context) {
	s := newService(b.lockers(ctx, 1)[0], setup{name: nextName(), count: b.divided(mostJobs), specs: distantSpecs(),
		run: func(scheduler.Run) {}})
	s.during(ctx, func() {
		s.known(ctx, b.admins, nodes)
		b.quiet(ctx)
		idle := processorTime()
		time.Sleep(2 * changes * changeEvery)
		used := processorTime()
		idle = used - idle
		one := s.job("one more", distantSpecs()[0])
		var added, removed []time.Duration
		for range changes {
			start := time.Now()
			check(s.jobs.Add(one))
			added = append(added, time.Since(start))
			time.Sleep(changeEvery)
			start = time.Now()
			check(s.jobs.Remove(one.Name))
			removed = append(removed, time.Since(start))
			time.Sleep(changeEvery)
		}
		b.report.latency("Add to 1,000,000 jobs", added, nil, "")
		b.report.latency("Remove of 1,000,000 jobs", removed, nil, "")
		used = processorTime() - used
		b.report.figure("a change of 1,000,000 jobs, CPU ms", ms(used-idle)/(2*changes))
	})
}
