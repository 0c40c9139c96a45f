package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	failovers     = 5
	failoverJobs  = 10_000
	failoverEvery = "@every 5s"
	leaderless    = 6 * time.Second // between two leaders: every job has missed a tick
	failoverTo    = time.Minute     // limit for the first run of a leader
	newJobs       = 100_000
	newEvery      = 100             // one in this many new jobs is due every second
	newWatched    = 5 * time.Second // after a majority knows all jobs
)

// failover measures the time from the start of a term to its first run. The jobs' ticks came while nobody led.
func (b *bench) failover(ctx context.Context) {
	name := nextName()
	runs, terms := make(chan time.Time, 1), make(chan *election.Term, 1)
	var services [2]service
	for i, p := range b.lockers(ctx, len(services)) {
		services[i] = newService(p, setup{name: name, count: b.divided(failoverJobs), specs: []string{failoverEvery},
			run:     func(scheduler.Run) { offer(runs, time.Now()) },
			elected: func(t *election.Term) { offer(terms, t) }})
	}
	var took []time.Duration
	for i := range 1 + failovers {
		s := services[i%len(services)]
		for len(runs) > 0 {
			<-runs // of the previous leader
		}
		s.during(ctx, func() {
			soon, cancel := context.WithTimeoutCause(ctx, failoverTo, errors.New("a new leader runs nothing"))
			defer cancel()
			term := must(receive(soon, terms))
			first := must(receive(soon, runs))
			if i > 0 { // the nodes knew the jobs
				took = append(took, first.Sub(term.Since()))
			}
			s.known(ctx, b.admins, nodes)
			b.quiet(ctx)
		})
		time.Sleep(leaderless)
	}
	b.report.figure("10,000 jobs, term to first run, ms", ms(quantile(took, 50)))
	b.report.figure("10,000 jobs, term to first run, longest, ms", ms(quantile(took, 100)))
}

// first measures the first leader of an election. No node has ever seen its jobs.
func (b *bench) first(ctx context.Context) {
	n := b.divided(newJobs)
	specs := make([]string, newEvery)
	for i, distant := 0, distantSpecs(); i < newEvery; i++ {
		specs[i] = distant[i%len(distant)]
	}
	specs[0] = everySecond
	var starts starts
	var mu sync.Mutex
	ticking := make(map[string]bool)
	all := make(chan time.Time, 1)
	terms := make(chan *election.Term, 1)
	s := newService(b.lockers(ctx, 1)[0], setup{name: nextName(), count: n, specs: specs,
		run: func(run scheduler.Run) {
			starts.add()
			mu.Lock()
			defer mu.Unlock()
			ticking[run.Job] = true
			if len(ticking) == n/newEvery {
				offer(all, time.Now())
			}
		},
		elected: func(t *election.Term) { offer(terms, t) }})
	s.during(ctx, func() {
		since := must(receive(ctx, terms)).Since()
		first := starts.first(ctx)
		b.report.figure("100,000 jobs, until the first run, s", first.Sub(since).Seconds())
		b.report.figure("100,000 jobs, until each of 1,000 of every second has run, s", must(receive(ctx, all)).Sub(since).Seconds())
		known := s.known(ctx, b.admins, nodes/2+1)
		b.report.figure("100,000 jobs, until a majority has them stored, s", known.Sub(since).Seconds())
		time.Sleep(newWatched)
		b.report.figure("jobs of every second, longest gap ms", ms(starts.gap(first, time.Now())))
	})
}
