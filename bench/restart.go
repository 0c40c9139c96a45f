package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	restartNodes   = 3
	restartJob     = "of every second"
	restartHealthy = 10 * time.Second // watched before the restart
	restartWatched = 30 * time.Second // watched from the restart on: longer than the node grants nothing
	untilFirstRun  = time.Minute
)

// restart measures a job that is due every second while one node of three restarts without its data. The other jobs are
// not due.
func (b *bench) restart(ctx context.Context) {
	for _, size := range []struct {
		what string
		jobs int
	}{{"10,000 jobs", 10_000}, {"100,000 jobs", 100_000}} {
		healthy, restarted := b.restartWith(ctx, b.divided(size.jobs))
		b.report.compare(fmt.Sprintf("one node of three, %s, longest gap ms", size.what), ms(restarted), ms(healthy),
			ms(restarted)/ms(healthy), "before the restart")
	}
}

// restartWith returns the longest gaps before and after the restart.
func (b *bench) restartWith(ctx context.Context, n int) (healthy, restarted time.Duration) {
	three := must(redisproc.Start(ctx, restartNodes))
	b.clusters = append(b.clusters, three)
	admins := clientsOf(three.Addrs())
	defer func() { check(closeAll(admins)) }()
	var starts starts
	p := b.open(ctx, 1, func([]string) peer { return openLocker(three.Addrs()) })[0]
	s := newService(p, setup{name: nextName(), count: n, specs: distantSpecs(), run: func(run scheduler.Run) {
		if run.Job == restartJob {
			starts.add()
		}
	}})
	check(s.jobs.Add(s.job(restartJob, everySecond)))
	s.count++
	s.during(ctx, func() {
		s.known(ctx, admins, restartNodes)
		starts.first(ctx)
		from := time.Now()
		time.Sleep(restartHealthy)
		at := time.Now()
		check(three.Node(1).Kill())
		check(three.Node(1).Restart(ctx))
		time.Sleep(restartWatched)
		healthy, restarted = starts.gap(from, at), starts.gap(at, time.Now())
	})
	return healthy, restarted
}

// starts has the times at which runs of jobs of every second started. Its methods may be called concurrently.
type starts struct {
	mu  sync.Mutex
	all []time.Time
}

func (s *starts) add() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, time.Now())
}

// first waits for the first start.
func (s *starts) first(ctx context.Context) time.Time {
	ctx, cancel := context.WithTimeoutCause(ctx, untilFirstRun, errors.New("no run yet"))
	defer cancel()
	for {
		s.mu.Lock()
		all := s.all
		s.mu.Unlock()
		if len(all) > 0 {
			return all[0]
		}
		must(receive(ctx, time.After(time.Millisecond)))
	}
}

// gap returns by how much the longest time without a start in an interval exceeds a second. The first such time begins
// with the last start before the interval.
func (s *starts) gap(from, to time.Time) (longest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := from
	for _, start := range append(slices.Clip(s.all), to) {
		switch {
		case start.After(to):
			continue
		case start.After(from):
			longest = max(longest, start.Sub(before)-time.Second)
		}
		before = start
	}
	return longest
}
