package main

import (
	"context"
	"fmt"
	"time"
)

const (
	pageOf      = 100
	forgettingA = 20 * time.Second // by when the leader has recorded that it no longer has the job
)

// namesKey returns the key of the sorted set in which a node has the names of the jobs.
func namesKey(election string) string { return "{redlock}:names:" + election }

// readByName measures reading one job, and reading all jobs page by page.
func (b *bench) readByName(ctx context.Context, s service, trips *trips) {
	var n int
	took, counts := timed(trips, func() {
		must(s.jobs.Status(ctx, fmt.Sprint("job ", n%s.count)))
		n++
	})
	b.report.figure("the status of one job, ms", quantile(took, 50))
	b.report.figure("the status of one job, round trips", quantile(counts, 50))

	took, after, listed := nil, "", 0
	for listed < s.count {
		start := time.Now()
		page := must(s.jobs.JobsAfter(ctx, after, pageOf))
		took = append(took, ms(time.Since(start)))
		if len(page) == 0 {
			check(fmt.Errorf("%d jobs are listed page by page, there are %d", listed, s.count))
		}
		listed += len(page)
		after = page[len(page)-1].Job
	}
	b.report.figure("a page of 100 jobs, ms", quantile(took, 50))
}

// forget makes the nodes forget all jobs of a service, and measures what they keep for each. The service leads, and has
// removed the jobs.
func (b *bench) forget(ctx context.Context, s service, before memory) {
	check(each(s.count, 16, func(i int) error {
		deadline := time.Now().Add(forgettingA)
		for {
			err := s.jobs.Forget(ctx, fmt.Sprint("job ", i))
			if err == nil || time.Now().After(deadline) {
				return err
			}
			if _, err := receive(ctx, time.After(100*time.Millisecond)); err != nil {
				return err
			}
		}
	}))
	b.reportMemory(ctx, "a forgotten job on a node, KiB", s, before)
}
