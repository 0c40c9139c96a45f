package scheduler_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

// With the TTL of most tests, 10 s, the rest of the election's settings is this.
const (
	ttl          = 10 * time.Second
	margin       = ttl / 5
	drainTimeout = 10 * time.Second
)

// cluster is n nodes in a bubble of virtual time, and what ran.
type cluster struct {
	*nodetest.Cluster
	t     *testing.T
	ttl   time.Duration
	nodes *redlocktest.Nodes
	start time.Time // midnight UTC

	mu   sync.Mutex // guards runs
	runs []*record
}

// record is one call of a job's function. Those that have not returned have no end.
type record struct {
	by string
	scheduler.Run
	start, end time.Time
	cause      error // of its context, when it returned
}

func bubble(t *testing.T, nodes int, test func(t *testing.T, c *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		midnight := time.Now() // a bubble begins then
		c := &cluster{t: t, ttl: ttl, nodes: redlocktest.New(t, nodes), start: midnight.Add(24 * time.Hour)}
		c.Cluster = c.nodes.Engine()
		time.Sleep(23 * time.Hour)
		c.meetJobs("job", "other", "first", "second", "a", "b")
		time.Sleep(time.Until(c.start))
		test(t, c)
	})
}

// meetJobs has the nodes know jobs of these names: for those that they do not, the first two seconds have no
// ticks.
func (c *cluster) meetJobs(names ...string) {
	c.t.Helper()
	locker, err := redlock.New(c.nodes.Process().Clients(), redlock.WithTTL(c.ttl))
	if err != nil {
		c.t.Fatal(err)
	}
	elector, err := election.New(locker, "x")
	if err != nil {
		c.t.Fatal(err)
	}
	s, err := scheduler.New(elector)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, name := range names {
		err = errors.Join(err, s.Add(scheduler.Job{
			Name: name, Spec: "@yearly", Run: func(context.Context, scheduler.Run) error { return nil },
		}))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err = errors.Join(err, elector.Run(ctx), locker.Close(context.Background())); err != nil {
		c.t.Fatal(err)
	}
}

// replica is one process.
type replica struct {
	*scheduler.Scheduler
	c       *cluster
	id      string
	elector *election.Elector
	process *redlocktest.Process
	clock   *clock.Clock // of the machine
	logs    *observer.ObservedLogs
	stop    context.CancelFunc // ends the elector's Run
	ended   chan struct{}      // closed when that has returned
}

// idle makes a process that does not campaign.
func (c *cluster) idle(id string, opts ...scheduler.Option) *replica {
	c.t.Helper()
	r := &replica{c: c, id: id, process: c.nodes.Process(), clock: clock.New()}
	var err error
	r.elector, err = election.New(r.process.Locker(redlock.WithClock(r.clock), redlock.WithTTL(c.ttl)), "x",
		election.WithIdentity(id, ""), election.WithDrainTimeout(drainTimeout), election.WithCooldown(time.Second))
	if err != nil {
		c.t.Fatal(err)
	}
	core, logs := observer.New(zapcore.DebugLevel)
	r.logs = logs
	opts = append([]scheduler.Option{scheduler.WithLogger(zap.New(core))}, opts...)
	if r.Scheduler, err = scheduler.New(r.elector, opts...); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = r.Shutdown(context.Background()) }) // has no error without an end
	return r
}

// replica makes a process that campaigns until the test's end.
func (c *cluster) replica(id string, opts ...scheduler.Option) *replica {
	c.t.Helper()
	r := c.idle(id, opts...)
	r.campaign()
	return r
}

// campaign has the process campaign until the test's end.
func (r *replica) campaign() {
	c := r.c
	ctx, cancel := context.WithCancel(context.Background())
	r.stop, r.ended = cancel, make(chan struct{})
	go func() {
		defer close(r.ended)
		_ = r.elector.Run(ctx) // what it returns is tested where it is made
	}()
	c.t.Cleanup(func() {
		c.Heal() // or it would wait for what it has asked nodes that hang
		cancel()
		<-r.ended
	})
}

// leads waits until the replica leads.
func (r *replica) leads() *election.Term {
	r.c.t.Helper()
	for range 100_000 {
		if t, ok := r.elector.Term(); ok {
			return t
		}
		time.Sleep(time.Millisecond)
	}
	r.c.t.Fatal("does not lead after 100 s")
	return nil
}

// leader makes a process that leads.
func (c *cluster) leader(id string, opts ...scheduler.Option) *replica {
	c.t.Helper()
	r := c.replica(id, opts...)
	r.leads()
	return r
}

func (r *replica) add(jobs ...scheduler.Job) {
	r.c.t.Helper()
	if err := r.Add(jobs...); err != nil {
		r.c.t.Fatal(err)
	}
}

// job is a job whose runs are recorded. Its work is told the number of the call, from 1.
func (r *replica) job(
	name, spec string, work func(ctx context.Context, call int) error,
) scheduler.Job {
	calls := 0
	record := func(ctx context.Context, run scheduler.Run) error {
		rec := &record{by: r.id, Run: run, start: now()}
		r.c.mu.Lock()
		calls++
		call := calls
		r.c.runs = append(r.c.runs, rec)
		r.c.mu.Unlock()
		defer func() {
			r.c.mu.Lock()
			defer r.c.mu.Unlock()
			rec.end, rec.cause = now(), context.Cause(ctx)
		}()
		return work(ctx, call)
	}
	return scheduler.Job{Name: name, Spec: spec, Run: record}
}

// now is in whole milliseconds: the nodes' clock is known to within a few microseconds.
func now() time.Time { return time.Now().Truncate(time.Millisecond) }

func quick(context.Context, int) error { return nil }

// lasting runs for d, whatever its context says.
func lasting(d time.Duration) func(context.Context, int) error {
	return func(context.Context, int) error {
		time.Sleep(d)
		return nil
	}
}

// untilDone runs until its context is done, and then for lag.
func untilDone(lag time.Duration) func(context.Context, int) error {
	return func(ctx context.Context, _ int) error {
		<-ctx.Done()
		time.Sleep(lag)
		return ctx.Err()
	}
}

// records returns the runs so far by start and job.
func (c *cluster) records() []record {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	var runs []record
	for _, r := range c.runs {
		runs = append(runs, *r)
	}
	slices.SortStableFunc(runs, func(a, b record) int {
		return cmp.Or(a.start.Compare(b.start), cmp.Compare(a.Job, b.Job))
	})
	return runs
}

// ran returns the runs so far as "job tick@start", both in the time since the bubble began.
func (c *cluster) ran() []string {
	var ran []string
	for _, r := range c.records() {
		ran = append(ran, r.Job+" "+c.at(r.Tick)+"@"+c.at(r.start))
	}
	return ran
}

func (c *cluster) sinceStart() time.Duration { return time.Since(c.start) }

func (c *cluster) at(t time.Time) string { return t.Sub(c.start).String() }

// sleepTo waits until d after the bubble's begin, and until nothing moves.
func (c *cluster) sleepTo(d time.Duration) {
	time.Sleep(time.Until(c.start.Add(d)))
	synctest.Wait()
}

// logged returns the log's entries with that message.
func (r *replica) logged(level zapcore.Level, message string) []observer.LoggedEntry {
	synctest.Wait()
	return r.logs.FilterLevelExact(level).FilterMessage(message).All()
}

func wantErr(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Fatalf("got error %v, want one that is %v", err, target)
		}
	}
}

func wantText(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got error %q, want %q in it", err, part)
		}
	}
}

func wantEqual(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}
