package migration

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/robfig/cron/v3"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

// late is how much later the requests of the second process reach the nodes.
const late = 20 * time.Millisecond

func TestGocronLocker_RunsATickTwiceBefore(t *testing.T) {
	bubble(t, time.Hour, func(t *testing.T, nodes *redlocktest.Nodes) {
		var made atomic.Int64
		for _, p := range two(nodes) {
			jobs, err := gocronLockerBefore(p.Clients()[0], counting(&made))
			start(t, jobs, err)
		}
		expect(t, 2*24*time.Hour, &made, 4)
	})
}

func TestGocronLocker_RunsATickOnceAfter(t *testing.T) {
	bubble(t, time.Hour, func(t *testing.T, nodes *redlocktest.Nodes) {
		var made atomic.Int64
		for _, p := range two(nodes) {
			elector, err := election.New(p.Locker(), "reports")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := gocronLockerAfter(elector, counting(&made)); err != nil {
				t.Fatal(err)
			}
			campaign(t, elector)
		}
		expect(t, 2*24*time.Hour, &made, 2)
	})
}

func TestGocronElector_TicksFromItsOwnStartBefore(t *testing.T) {
	bubble(t, time.Hour, func(t *testing.T, nodes *redlocktest.Nodes) {
		time.Sleep(time.Minute)
		var made atomic.Int64
		jobs, err := gocronElectorBefore(everybody{}, counting(&made))
		start(t, jobs, err)
		expect(t, 5*time.Minute-time.Second, &made, 0)
		expect(t, 2*time.Second, &made, 1)
	})
}

func TestGocronElector_RunsATickOnceBetween(t *testing.T) {
	bubble(t, time.Hour, func(t *testing.T, nodes *redlocktest.Nodes) {
		var made atomic.Int64
		for range 2 {
			r := nodes.Replica()
			r.Run()
			jobs, err := gocronElectorBetween(r.Elector, counting(&made))
			start(t, jobs, err)
		}
		expect(t, time.Hour+time.Minute, &made, 12)
	})
}

func TestGocronElector_RunsATickOnceAfter(t *testing.T) {
	once(t, time.Hour+time.Minute, 12, func(jobs *scheduler.Scheduler, made *atomic.Int64) error {
		return gocronElectorAfter(jobs, counting(made))
	})
}

func TestRobfig_RunsATickInEveryReplicaBefore(t *testing.T) {
	bubble(t, time.Hour, func(t *testing.T, _ *redlocktest.Nodes) {
		var made atomic.Int64
		for range 2 {
			jobs, err := robfigBefore(func() { made.Add(1) })
			tick(t, jobs, err)
		}
		expect(t, 2*24*time.Hour, &made, 4)
	})
}

func TestRobfig_RunsATickOnceAfter(t *testing.T) {
	once(t, 2*24*time.Hour, 2, func(jobs *scheduler.Scheduler, made *atomic.Int64) error {
		return robfigAfter(jobs, func() { made.Add(1) })
	})
}

func TestRobfigRedsync_RunsATickTwiceBefore(t *testing.T) {
	bubble(t, time.Hour, func(t *testing.T, nodes *redlocktest.Nodes) {
		var made atomic.Int64
		for _, p := range two(nodes) {
			jobs, err := robfigRedsyncBefore(redsyncNewBefore(p.Clients()), counting(&made))
			tick(t, jobs, err)
		}
		expect(t, 2*24*time.Hour, &made, 4)
	})
}

func TestRobfigRedsync_RunsATickOnceAfter(t *testing.T) {
	once(t, 2*24*time.Hour, 2, func(jobs *scheduler.Scheduler, made *atomic.Int64) error {
		return robfigRedsyncAfter(jobs, counting(made))
	})
}

// once adds a job to two replicas, and checks the number of their runs together.
func once(t *testing.T, d time.Duration, want int64, add func(*scheduler.Scheduler, *atomic.Int64) error) {
	t.Helper()
	bubble(t, time.Hour, func(t *testing.T, nodes *redlocktest.Nodes) {
		var made atomic.Int64
		for range 2 {
			r := nodes.Replica()
			if err := add(r.Scheduler, &made); err != nil {
				t.Fatal(err)
			}
			r.Run()
		}
		expect(t, d, &made, want)
	})
}

// everybody is a gocron.Elector with which all replicas lead.
type everybody struct{}

func (everybody) IsLeader(context.Context) error { return nil }

// two returns two processes. The requests of the second one reach the nodes late.
func two(nodes *redlocktest.Nodes) []*redlocktest.Process {
	first, second := nodes.Process(), nodes.Process()
	second.Delay(late)
	return []*redlocktest.Process{first, second}
}

func counting(made *atomic.Int64) func(context.Context) error {
	return func(context.Context) error {
		made.Add(1)
		return nil
	}
}

// expect waits for d, and checks the number of runs then.
func expect(t *testing.T, d time.Duration, made *atomic.Int64, want int64) {
	t.Helper()
	time.Sleep(d)
	if n := made.Load(); n != want {
		t.Errorf("%d runs, want %d", n, want)
	}
}

// start runs gocron's jobs until the end of the test.
func start(t *testing.T, jobs gocron.Scheduler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	jobs.Start()
	t.Cleanup(func() {
		if err := jobs.Shutdown(); err != nil {
			t.Error(err)
		}
	})
}

// tick runs robfig's jobs until the end of the test.
func tick(t *testing.T, jobs *cron.Cron, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	jobs.Start()
	t.Cleanup(func() { <-jobs.Stop().Done() })
}

// campaign runs elector until the end of the test.
func campaign(t *testing.T, elector *election.Elector) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- elector.Run(ctx) }() // ends after stop; the cleanup waits for it
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
