package main

import (
	"context"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	tickSamples   = 120 // of one job, one a second
	tripSamples   = 21  // the same
	triggers      = 40
	firstTicks    = 3                     // not counted, because the nodes load their scripts
	beforeTick    = 20 * time.Millisecond // requests sent up to this long before a tick may be for it
	untilAccepted = 3 * time.Second       // a job that the nodes have never seen does not run in its first two seconds
)

// ticks measures how long after its tick a run starts, and how many round trips that takes.
func (b *bench) ticks(ctx context.Context) {
	all := b.lockers(ctx, 2)
	b.ticking(ctx, all[0])
	b.roundTrips(ctx)
	b.triggering(ctx, all)
}

// tick is a run of a job of every second.
type tick struct{ due, started time.Time }

// ticksOf calls do for n ticks of one job that a peer runs.
func ticksOf(ctx context.Context, p peer, n int, do func(tick)) {
	ticks := make(chan tick, 1)
	newService(p, setup{name: nextName(), count: 1, specs: []string{everySecond}, run: func(run scheduler.Run) {
		offer(ticks, tick{run.Tick, time.Now()})
	}}).during(ctx, func() {
		for i := range firstTicks + n {
			if t := must(receive(ctx, ticks)); i >= firstTicks {
				do(t)
			}
		}
	})
}

func (b *bench) ticking(ctx context.Context, p peer) {
	var took []time.Duration
	ticksOf(ctx, p, tickSamples, func(t tick) { took = append(took, t.started.Sub(t.due)) })
	b.report.latency("tick to run", took, nil, "")
}

// roundTrips reports the median, because now and then a renewal of the lease is sent along with a tick.
func (b *bench) roundTrips(ctx context.Context) {
	p, trips := b.openWatched(ctx)
	var counts []int
	ticksOf(ctx, p, tripSamples, func(t tick) {
		counts = append(counts, trips.between(t.due.Add(-beforeTick), t.started))
	})
	b.report.figure("round trips before a run starts", float64(quantile(counts, 50)))
}

// triggering measures runs that a process other than the leader triggers.
func (b *bench) triggering(ctx context.Context, all []peer) {
	name := nextName()
	began := make(chan time.Time, 1)
	var services [2]service
	for i := range services {
		services[i] = newService(all[i], setup{name: name, count: 1, specs: []string{"@yearly"},
			run: func(scheduler.Run) { began <- time.Now() }})
	}
	services[0].during(ctx, func() {
		time.Sleep(untilAccepted)
		took := make([]time.Duration, triggers)
		for i := range took {
			start := time.Now()
			check(services[1].jobs.Trigger(ctx, "job 0"))
			took[i] = must(receive(ctx, began)).Sub(start)
			time.Sleep(20 * time.Millisecond) // meanwhile the leader records the end of the run
		}
		b.report.latency("Trigger to run", took, nil, "")
	})
}
