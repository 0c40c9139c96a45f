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
)

// late is how much later the requests of the second replica reach the nodes.
const late = 20 * time.Millisecond

// Before, both replicas run each tick; after, one of them does.
func TestJobs_OfTwoReplicas(t *testing.T) {
	const days, hour = 2 * 24 * time.Hour, time.Hour + time.Minute
	type replica struct {
		*redlocktest.Replica
		t    *testing.T
		made *atomic.Int64
	}
	for name, test := range map[string]struct {
		after time.Duration
		want  int64
		run   func(replica)
	}{
		"gocronLockerBefore": {days, 4, func(r replica) {
			jobs, err := gocronLockerBefore(r.Clients()[0], counting(r.made))
			start(r.t, jobs, err)
		}},
		"gocronLockerAfter": {days, 2, func(r replica) {
			var err error
			r.Elector, err = election.New(r.Locker, "reports") // the replica's own has a scheduler already
			must(r.t, err)
			_, err = gocronLockerAfter(r.Elector, counting(r.made))
			must(r.t, err)
			r.Run()
		}},
		"gocronElectorBetween": {hour, 12, func(r replica) {
			r.Run()
			jobs, err := gocronElectorBetween(r.Elector, counting(r.made))
			start(r.t, jobs, err)
		}},
		"gocronElectorAfter": {hour, 12, func(r replica) {
			must(r.t, gocronElectorAfter(r.Scheduler, counting(r.made)))
			r.Run()
		}},
		"robfigBefore": {days, 4, func(r replica) {
			jobs, err := robfigBefore(func() { r.made.Add(1) })
			tick(r.t, jobs, err)
		}},
		"robfigAfter": {days, 2, func(r replica) {
			must(r.t, robfigAfter(r.Scheduler, func() { r.made.Add(1) }))
			r.Run()
		}},
		"robfigRedsyncBefore": {days, 4, func(r replica) {
			jobs, err := robfigRedsyncBefore(redsyncNewBefore(r.Clients()), counting(r.made))
			tick(r.t, jobs, err)
		}},
		"robfigRedsyncAfter": {days, 2, func(r replica) {
			must(r.t, robfigRedsyncAfter(r.Scheduler, counting(r.made)))
			r.Run()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, time.Hour, func(t *testing.T, nodes *redlocktest.Nodes) {
				var made atomic.Int64
				for i := range 2 {
					r := nodes.Replica()
					r.Delay(time.Duration(i) * late)
					test.run(replica{r, t, &made})
				}
				expect(t, test.after, &made, test.want)
			})
		})
	}
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
	must(t, err)
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
	must(t, err)
	jobs.Start()
	t.Cleanup(func() { <-jobs.Stop().Done() })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
