//go:build unix

package test_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	longestTTL   = 3 * time.Second
	longestIsSet = "REDLOCK_MAX_TTL=3"
)

// service has a few replicas with a job that runs every second, and records what happened.
type service struct {
	mu    sync.Mutex // guards the fields below
	ticks map[time.Time]int
	ended []error // causes of terms
}

func (s *service) note(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
}

// serve runs the replicas until the test is over.
func serve(t *testing.T, nodes *redisproc.Cluster) *service {
	t.Helper()
	s := &service{ticks: make(map[time.Time]int)}
	ctx, stop := context.WithCancel(context.Background())
	var replicas sync.WaitGroup
	for range 2 {
		elector := s.replica(t, locker(t, longestTTL, nodes.Addrs()))
		replicas.Go(func() { _ = elector.Run(ctx) }) // ends with ctx
	}
	t.Cleanup(func() {
		stop()
		replicas.Wait()
	})
	s.await(t, "first tick", func() bool { return len(s.ticks) > 0 })
	return s
}

func (s *service) replica(t *testing.T, l *redlock.Locker) *election.Elector {
	t.Helper()
	elector, err := election.New(l, "jobs", election.WithHooks(election.Hooks{
		Ended: func(_ *election.Term, cause error) { s.note(func() { s.ended = append(s.ended, cause) }) },
	}))
	want.NoError(t, err)
	jobs, err := scheduler.New(elector)
	want.NoError(t, err)
	// Every tick runs, even if late on a busy machine.
	if err := jobs.Add(scheduler.Job{
		Name: "job", Spec: "* * * * * *", CatchUp: scheduler.CatchUpAll(time.Hour), Overlap: scheduler.Queue,
		Run: func(_ context.Context, run scheduler.Run) error {
			s.note(func() { s.ticks[run.Tick.UTC()]++ })
			return nil
		},
	}); err != nil {
		t.Fatal(err)
	}
	return elector
}

func (s *service) await(t *testing.T, what string, so func() bool) {
	t.Helper()
	until(t, what, func() (is bool) {
		s.note(func() { is = so() })
		return is
	})
}

// judge checks that no term has ended, and that the tick of each second from the first to the last one ran once.
func (s *service) judge(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ended) > 0 {
		t.Errorf("terms ended: %v", errors.Join(s.ended...))
	}
	all := slices.SortedFunc(maps.Keys(s.ticks), time.Time.Compare)
	first, last := all[0], all[len(all)-1]
	for tick := first; !tick.After(last); tick = tick.Add(time.Second) {
		if s.ticks[tick] != 1 {
			t.Errorf("the tick of %s ran %d times", tick.Format(time.TimeOnly), s.ticks[tick])
		}
	}
}

// drainAll restarts one node after the other, the last one first, as a StatefulSet does. It restarts the next one as
// soon as the probe says that this one is ready, as a drain does: a PodDisruptionBudget does not look at
// minReadySeconds. A rollout waits for longer.
func drainAll(t *testing.T, nodes *redisproc.Cluster, restart func(*redisproc.Node) error) {
	t.Helper()
	for i := range slices.Backward(nodes.Addrs()) {
		node := nodes.Node(i)
		want.NoError(t, errors.Join(node.Kill(), restart(node)))
		awaitReady(t, node.Addr(), time.Now(), longestIsSet)
	}
}

// rolled starts nodes and a service, and waits until a drain or a rollout may begin.
func rolled(t *testing.T, args ...string) (*redisproc.Cluster, *service) {
	t.Helper()
	nodes := startNodes(t, 3, args...)
	s := serve(t, nodes)
	for _, addr := range nodes.Addrs() {
		awaitReady(t, addr, time.Now(), longestIsSet)
	}
	return nodes, s
}

func TestDrains_CostNoTermAndNoTick(t *testing.T) {
	t.Parallel()
	persistent := []string{"--appendonly", "yes"}
	for name, c := range map[string]struct {
		args    []string
		restart func(*redisproc.Node) error
	}{
		"nodes with files":    {persistent, func(n *redisproc.Node) error { return n.Restart(t.Context()) }},
		"nodes without files": {nil, func(n *redisproc.Node) error { return n.RestartEmpty(t.Context()) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes, s := rolled(t, c.args...)
			drainAll(t, nodes, c.restart)
			var last time.Time
			s.note(func() { last = slices.MaxFunc(slices.Collect(maps.Keys(s.ticks)), time.Time.Compare) })
			s.await(t, "ticks after the last restart", func() bool {
				_, ran := s.ticks[last.Add(3*time.Second)]
				return ran
			})
			s.judge(t)
		})
	}
}
