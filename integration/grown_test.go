//go:build unix

package integration_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// grownTTL is the TTL of every lease here, and the length of guards.
const grownTTL = 3 * time.Second

// grower is a service with two jobs.
type grower struct {
	locker *redlock.Locker
	jobs   *scheduler.Scheduler
	stop   func() // stops the service, and waits for its end
}

// startGrower starts the service on a list of nodes.
func startGrower(t *testing.T, addrs []string) grower {
	t.Helper()
	l, err := redlock.Open(addrs, redlock.WithTTL(grownTTL), redlock.WithNodeTimeout(grownTTL/6))
	must(t, err)
	e, err := election.New(l, "billing")
	must(t, err)
	s, err := scheduler.New(e)
	must(t, err)
	work := func(context.Context, scheduler.Run) error { return nil }
	must(t, s.Add(scheduler.Job{Name: "report", Spec: "* * * * * *", Run: work}, scheduler.Job{Name: "paused", Spec: "* * * * * *", Run: work}))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }() // ends with stop, which waits for it
	stop := func() {
		cancel()
		must(t, <-ended)
		must(t, l.Close(context.Background()))
	}
	return grower{l, s, stop}
}

// status returns the status of a job from the nodes, or the zero Status on an error.
func (g grower) status(t *testing.T, job string) scheduler.Status {
	t.Helper()
	status, _ := g.jobs.Status(t.Context(), job) // nobody may lead yet
	return status
}

// A deploy grows the list as docs/growing.md says.
func TestGrowing_FromOneNodeToThree(t *testing.T) {
	t.Parallel()
	nodes := startServers(t, 3, persist...)
	alone := startGrower(t, nodes.Addrs()[:1])
	poll(t, "run on one node", func() bool { return alone.status(t, "report").LastOK.Tick != time.Time{} })
	poll(t, "pause", func() bool { return alone.jobs.Pause(t.Context(), "paused") == nil })

	look, err := redlock.Open(nodes.Addrs(), redlock.WithTTL(grownTTL), redlock.WithNodeTimeout(grownTTL/6))
	must(t, err)
	for _, n := range look.Nodes(t.Context()) {
		if n.Err != nil {
			t.Errorf("step 2: %+v", n)
		}
	}
	must(t, look.Close(t.Context()))
	alone.stop()
	stopped := time.Now()
	<-time.After(grownTTL + grownTTL/8) // the old node forgets the length of the list

	grown := startGrower(t, nodes.Addrs())
	defer grown.stop()
	poll(t, "run on three nodes", func() bool { return grown.status(t, "report").LastOK.Tick.After(stopped) })
	if took, most := time.Since(stopped), 3*grownTTL+busy; took > most {
		t.Errorf("a job ran after %v, want %v at most", took, most)
	}
	poll(t, "three nodes without an error and a guard", func() bool {
		fit := 0
		for _, n := range grown.locker.Nodes(t.Context()) {
			if n.Err == nil && n.Guard == 0 {
				fit++
			}
		}
		return fit == 3
	})
	poll(t, "ticks of the outage that are missed", func() bool { return grown.status(t, "report").Missed > 0 })
	if report, paused := grown.status(t, "report"), grown.status(t, "paused"); report.Paused || !paused.Paused || paused.Last.Tick.After(stopped) {
		t.Errorf("the pause is not as it was: %+v and %+v", report, paused)
	}
}
