package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	atOnce      = 10_000
	bursts      = 5
	burstEvery  = "*/20 * * * * *" // rare enough that each burst ends before the next
	burstsFor   = 4 * time.Minute  // limit for all bursts
	runningJobs = 40_000           // due each second: more than a leader can run
	runningFor  = 10 * time.Second
)

// burst measures many jobs that are due at the same instant, from the tick until the last of them starts.
func (b *bench) burst(ctx context.Context) {
	n := b.divided(atOnce)
	var mu sync.Mutex
	ran := make(map[time.Time]int)
	last := make(chan time.Duration, 1)
	s := newService(b.lockers(ctx, 1)[0], setup{name: nextName(), count: n, specs: []string{burstEvery},
		run: func(run scheduler.Run) {
			took := time.Since(run.Tick)
			mu.Lock()
			ran[run.Tick]++
			isLast := ran[run.Tick] == n
			mu.Unlock()
			if isLast {
				offer(last, took)
			}
		}})
	s.during(ctx, func() {
		ctx, cancel := context.WithTimeoutCause(ctx, burstsFor, errors.New("not all jobs ran"))
		defer cancel()
		took := make([]time.Duration, bursts)
		for i := range took {
			took[i] = must(receive(ctx, last))
		}
		b.report.figure("10,000 jobs due at once, s", quantile(took, 50).Seconds())
		b.report.figure(fmt.Sprintf("10,000 jobs due at once, longest of %d, s", bursts), quantile(took, 100).Seconds())
	})
}

// runs measures how many runs a leader can start and end. The jobs are due every second and return at once. A run has
// ended when the nodes have recorded its end.
func (b *bench) runs(ctx context.Context) {
	var started, ended, missed atomic.Int64
	s := newService(b.lockers(ctx, 1)[0], setup{name: nextName(), count: b.divided(runningJobs), specs: []string{everySecond},
		run: func(scheduler.Run) { started.Add(1) },
		hooks: scheduler.Hooks{
			Finished: func(r scheduler.Record) {
				if r.State == scheduler.StateOK {
					ended.Add(1)
				}
			},
			Missed: func(_ string, ticks int, _ string) { missed.Add(int64(ticks)) },
		}})
	s.during(ctx, func() {
		s.known(ctx, b.admins, nodes/2+1)
		time.Sleep(untilAccepted)
		counters := []*atomic.Int64{&started, &ended, &missed}
		rates, start := make([]float64, len(counters)), time.Now()
		leader, node := processorTime(), b.processorTimeOfANode(ctx)
		for i, c := range counters {
			rates[i] = -float64(c.Load())
		}
		time.Sleep(runningFor)
		took := time.Since(start).Seconds()
		for i, c := range counters {
			rates[i] = (rates[i] + float64(c.Load())) / took
		}
		leader, node = processorTime()-leader, b.processorTimeOfANode(ctx)-node
		b.report.figure("runs a second", min(rates[0], rates[1]))
		b.report.figure("the leader's processor time a run, us", float64(leader.Microseconds())/(rates[1]*took))
		b.report.figure("a node's processor time a run, us", float64(node.Microseconds())/(rates[1]*took))
		b.report.figure("ticks missed a second, of 40,000 due", rates[2])
	})
}
