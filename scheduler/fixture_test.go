package scheduler_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/clock"
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	ttl          = 10 * time.Second // in withShortLeases
	margin       = ttl / 5
	drainTimeout = 10 * time.Second
)

// cluster has the nodes of a bubble, and a record of what has run. Its Start is a midnight UTC.
type cluster struct {
	*bubble.Cluster
	ttl      time.Duration
	opts     []election.Option // of the replicas' electors
	messages []messages        // by node, if the cluster is replayed

	mu   sync.Mutex // guards runs
	runs []*record
}

// record is one call of a job's function. It has no end until the function returns.
type record struct {
	by string
	scheduler.Run
	start, end time.Time
	cause      error // of the call's context, when the function returned
}

// inBubble runs test in a bubble, in parallel with other tests. The TTL is ten minutes, so that nobody renews or polls in most
// tests. The nodes know the jobs "job", "other", "first", "second", "a" and "b": a job that is new to them has no ticks in its
// first two seconds.
func inBubble(t *testing.T, nodes int, test func(t *testing.T, c *cluster)) {
	t.Helper()
	inBubbleOf(t, nodes, 10*time.Minute, test)
}

// withShortLeases is inBubble with a TTL of ten seconds: for tests in which leases run out, or leaders poll.
func withShortLeases(t *testing.T, nodes int, test func(t *testing.T, c *cluster)) {
	t.Helper()
	inBubbleOf(t, nodes, ttl, test)
}

func inBubbleOf(t *testing.T, nodes int, ttl time.Duration, test func(t *testing.T, c *cluster)) {
	t.Helper()
	t.Parallel() // bubbles share nothing
	bubble.Run(t, nodes, func(t *testing.T, nodes *bubble.Cluster) {
		c := &cluster{Cluster: nodes, ttl: ttl}
		c.Start = c.Start.Add(24 * time.Hour) // a bubble starts at midnight
		time.Sleep(23 * time.Hour)
		c.makeKnown("job", "other", "first", "second", "a", "b")
		time.Sleep(time.Until(c.Start))
		test(t, c)
	})
}

// makeKnown makes the nodes know jobs of these names.
func (c *cluster) makeKnown(names ...string) {
	c.T.Helper()
	locker, err := redlock.New(c.Links().Clients(), redlock.WithTTL(c.ttl))
	want.NoError(c.T, err)
	elector, err := election.New(locker, "x")
	want.NoError(c.T, err)
	s, err := scheduler.New(elector)
	want.NoError(c.T, err)
	for _, name := range names {
		err = errors.Join(err, s.Add(scheduler.Job{
			Name: name, Spec: "@yearly", Run: func(context.Context, scheduler.Run) error { return nil },
		}))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err = errors.Join(err, elector.Run(ctx), locker.Close(context.Background())); err != nil {
		c.T.Fatal(err)
	}
}

// replica is one process.
type replica struct {
	*scheduler.Scheduler
	c       *cluster
	id      string
	elector *election.Elector
	links   *nodetest.Links
	clock   *clock.Clock // of the machine
	logs    *observer.ObservedLogs
	stop    context.CancelFunc // ends the elector's Run
	ended   chan struct{}      // closed when Run has returned
}

// idle returns a process that does not campaign.
func (c *cluster) idle(id string, opts ...scheduler.Option) *replica {
	c.T.Helper()
	var nodes []int
	for i := range c.N {
		nodes = append(nodes, i)
	}
	return c.idleOf(id, nodes, opts...)
}

// idleOf is idle with a list of some of the nodes.
func (c *cluster) idleOf(id string, nodes []int, opts ...scheduler.Option) *replica {
	c.T.Helper()
	r := &replica{c: c, id: id, clock: clock.New()}
	var locker *redlock.Locker
	locker, r.links = c.LockerOf(nodes, inside.WithClock(r.clock).(redlock.Option), redlock.WithTTL(c.ttl))
	var err error
	r.elector, err = election.New(locker, "x", append([]election.Option{
		election.WithIdentity(id, ""), election.WithDrainTimeout(drainTimeout), election.WithCooldown(time.Second),
	}, c.opts...)...)
	want.NoError(c.T, err)
	core, logs := observer.New(zapcore.DebugLevel)
	r.logs = logs
	opts = append([]scheduler.Option{scheduler.WithLogger(zap.New(core))}, opts...)
	if r.Scheduler, err = scheduler.New(r.elector, opts...); err != nil {
		c.T.Fatal(err)
	}
	c.T.Cleanup(func() {
		for r.Shutdown(context.Background()) != nil { // runs are under way for longer than the drain timeout
			time.Sleep(time.Second)
		}
	})
	return r
}

// replica returns a process that campaigns until the end of the test.
func (c *cluster) replica(id string, opts ...scheduler.Option) *replica {
	c.T.Helper()
	r := c.idle(id, opts...)
	r.campaign()
	return r
}

// campaign starts a campaign that lasts until the end of the test.
func (r *replica) campaign() {
	c := r.c
	ctx, cancel := context.WithCancel(context.Background())
	r.stop, r.ended = cancel, make(chan struct{})
	go func() {
		defer close(r.ended)
		_ = r.elector.Run(ctx) // other tests check its result
	}()
	c.T.Cleanup(func() {
		c.Heal() // Run waits for calls to nodes, which may hang
		cancel()
		<-r.ended
	})
}

// leads waits until the replica leads.
func (r *replica) leads() (term *election.Term) {
	r.c.T.Helper()
	bubble.Await(r.c.T, r.id+" leads", 100*time.Second, func() (ok bool) {
		term, ok = r.elector.Term()
		return ok
	})
	return term
}

// leader returns a process that leads.
func (c *cluster) leader(id string, opts ...scheduler.Option) *replica {
	c.T.Helper()
	r := c.replica(id, opts...)
	r.leads()
	return r
}

// takesOver makes the replica campaign, and waits until it leads.
func (r *replica) takesOver() *election.Term {
	r.c.T.Helper()
	r.campaign()
	return r.leads()
}

// leaves ends the replica's campaign, and waits until it has handed over.
func (r *replica) leaves() {
	r.stop()
	<-r.ended
}

// must ends the test if there is an error.
func (c *cluster) must(err error) {
	c.T.Helper()
	want.NoError(c.T, err)
}

func (r *replica) add(jobs ...scheduler.Job) {
	r.c.T.Helper()
	r.c.must(r.Add(jobs...))
}

// addBoth adds the job "job" to two replicas. Runs of a do work, those of b return at once. change applies to both jobs.
func addBoth(a, b *replica, spec string, work func(context.Context, int) error, change ...func(*scheduler.Job)) {
	first, second := a.job("job", spec, work), b.job("job", spec, quick)
	for _, do := range change {
		do(&first)
		do(&second)
	}
	a.add(first)
	b.add(second)
}

// job returns a job that records its runs. Its work gets the number of the call, from 1.
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

// now returns the time in whole milliseconds: the nodes' clock is known to within a few microseconds.
func now() time.Time { return time.Now().Truncate(time.Millisecond) }

func quick(context.Context, int) error { return nil }

// lasting returns work that runs for d and ignores its context.
func lasting(d time.Duration) func(context.Context, int) error {
	return func(context.Context, int) error {
		time.Sleep(d)
		return nil
	}
}

// untilDone returns work that runs until its context is done, and then for lag.
func untilDone(lag time.Duration) func(context.Context, int) error {
	return func(ctx context.Context, _ int) error {
		<-ctx.Done()
		time.Sleep(lag)
		return ctx.Err()
	}
}

// records returns the runs so far, sorted by start and job.
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

// ran returns the runs so far as "job tick@start", both as times since the bubble began.
func (c *cluster) ran() []string {
	var ran []string
	for _, r := range c.records() {
		ran = append(ran, r.Job+" "+c.at(r.Tick)+"@"+c.at(r.start))
	}
	return ran
}

func (c *cluster) at(t time.Time) string { return c.At(t).String() }

// logged returns the log entries with that message.
func (r *replica) logged(level zapcore.Level, message string) []observer.LoggedEntry {
	synctest.Wait()
	return r.logs.FilterLevelExact(level).FilterMessage(message).All()
}

func wantEqual(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}
