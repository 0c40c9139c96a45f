package otelredlock

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// scope is the instrumentation scope of metrics and spans.
const scope = "github.com/redlockfx/redlockfx/otelredlock"

// Instruments record metrics and spans for hooks and middleware. Make one for the whole life of a process. Its
// methods are safe for concurrent use.
//
// Transitions are elected, and the ways in which a term ends: stopped, resigned, panic, expired (the lease was not
// renewed by the stop deadline) and lost (the lease was gone, or taken by another process, on a majority of nodes).
//
// Validity is the time left until the stop deadline after the last renewal, even if that failed. It is 0 if this
// process does not lead.
//
// Node errors count the events [redlock.NodeFails], [redlock.NodeProblem] and [redlock.NodeDenies], not each failed
// call. server.address is the node as the Locker names it, with its port. A node is guarded while it grants nothing
// because it may have lost a lease.
//
// Outcomes of runs are ok, error, panic, timeout, lost_lease, skipped and canceled. timeout means that the error reports an
// exceeded deadline: the job's Timeout, or one that Run has set itself. lost_lease is a run that failed after the lease
// was lost, or whose end is unknown. If the process that lost the lease still lives, both it and the next leader may
// count the run. A run is counted when it ends. Its duration includes its retries, and its lag is the time from the
// tick to its start, both by the nodes' clock. Runs that were lost or skipped have neither.
//
// The time of the last good run is the Unix time of its end, by the nodes' clock, or 0 if this process had none. A job's
// value is the largest over all processes, and exported values of ended processes still count. Alert on it, not on the
// increase of good runs, because the series of a new leader starts at 1, which is no increase.
type Instruments struct {
	tracer trace.Tracer

	leader      metric.Int64ObservableUpDownCounter
	transitions metric.Int64Counter
	renewals    metric.Float64Histogram
	validity    metric.Float64ObservableGauge

	nodeErrors metric.Int64Counter
	guarded    metric.Int64ObservableUpDownCounter
	clockJumps metric.Int64Counter

	runs      metric.Int64Counter
	lastGood  metric.Float64ObservableGauge
	durations metric.Float64Histogram
	lags      metric.Float64Histogram
	missed    metric.Int64Counter
	unclaimed metric.Int64Counter

	elections sync.Map // name to *tenure
	nodes     sync.Map // address to *guard
	jobs      sync.Map // name to *job
	spans     sync.Map // name of a job to []trace.SpanStartOption
	panics    panics
}

// Option changes where metrics and spans go.
type Option func(*config)

type config struct {
	meters  metric.MeterProvider
	tracers trace.TracerProvider
}

// WithMeterProvider sets where metrics go; the global provider if not set.
func WithMeterProvider(p metric.MeterProvider) Option { return func(c *config) { c.meters = p } }

// WithTracerProvider sets where spans go; the global provider if not set.
func WithTracerProvider(p trace.TracerProvider) Option { return func(c *config) { c.tracers = p } }

// New makes the instruments. The error names every instrument that could not be made.
func New(opts ...Option) (*Instruments, error) {
	c := config{meters: otel.GetMeterProvider(), tracers: otel.GetTracerProvider()}
	for _, opt := range opts {
		opt(&c)
	}
	i := &Instruments{tracer: c.tracers.Tracer(scope)}
	if err := i.make(c.meters.Meter(scope)); err != nil {
		return nil, fmt.Errorf("otelredlock: %w", err)
	}
	return i, nil
}

func (i *Instruments) make(meter metric.Meter) error {
	var problems [13]error
	i.leader, problems[0] = meter.Int64ObservableUpDownCounter("redlock.election.leader",
		metric.WithUnit("{leader}"), metric.WithDescription("1 while this process leads, otherwise 0."))
	i.transitions, problems[1] = meter.Int64Counter("redlock.election.transitions",
		metric.WithUnit("{transition}"), metric.WithDescription("Terms that began, and how terms ended."))
	i.renewals, problems[2] = meter.Float64Histogram("redlock.lease.renew.duration",
		metric.WithUnit("s"), metric.WithDescription("Time that a renewal of the leader's lease took, retries included."),
		metric.WithExplicitBucketBoundaries(.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10))
	i.validity, problems[3] = meter.Float64ObservableGauge("redlock.lease.validity",
		metric.WithUnit("s"), metric.WithDescription("Time left to lead after the last renewal, 0 if not leading."))

	i.nodeErrors, problems[4] = meter.Int64Counter("redlock.node.errors",
		metric.WithUnit("{error}"), metric.WithDescription("Nodes that began to fail, and problems of nodes that answer."))
	i.guarded, problems[5] = meter.Int64ObservableUpDownCounter("redlock.node.guarded",
		metric.WithUnit("{node}"), metric.WithDescription("1 while the node grants nothing, because it may have lost a lease."))
	i.clockJumps, problems[6] = meter.Int64Counter("redlock.node.clock.jumps",
		metric.WithUnit("{jump}"), metric.WithDescription("Times that a node's clock was stepped."))

	i.runs, problems[7] = meter.Int64Counter("redlock.job.runs",
		metric.WithUnit("{run}"), metric.WithDescription("Runs that ended, and ticks that were skipped, by outcome."))
	i.durations, problems[8] = meter.Float64Histogram("redlock.job.run.duration",
		metric.WithUnit("s"), metric.WithDescription("Time that a run took, retries included."),
		metric.WithExplicitBucketBoundaries(.01, .05, .1, .5, 1, 5, 15, 60, 300, 900, 3600, 14400))
	i.lags, problems[9] = meter.Float64Histogram("redlock.job.schedule.lag",
		metric.WithUnit("s"), metric.WithDescription("Time from a tick to the start of its run."),
		metric.WithExplicitBucketBoundaries(.001, .005, .01, .05, .1, .5, 1, 5, 15, 60, 300, 3600))
	i.missed, problems[10] = meter.Int64Counter("redlock.job.missed",
		metric.WithUnit("{tick}"), metric.WithDescription("Ticks that did not run and will not."))
	i.unclaimed, problems[11] = meter.Int64Counter("redlock.job.unclaimed",
		metric.WithUnit("{attempt}"), metric.WithDescription("Attempts to claim a tick that too few nodes answered."))
	i.lastGood, problems[12] = meter.Float64ObservableGauge("redlock.job.last_good_run.time",
		metric.WithUnit("s"), metric.WithDescription("Unix time at which this process's last good run ended, 0 if it had none."))

	if err := errors.Join(problems[:]...); err != nil {
		return err // a callback needs its instruments
	}
	_, err := meter.RegisterCallback(i.observe, i.leader, i.validity, i.guarded, i.lastGood)
	return err
}

// observe exports the current values, each time that metrics are collected.
func (i *Instruments) observe(_ context.Context, o metric.Observer) error {
	i.elections.Range(func(_, t any) bool {
		t.(*tenure).observe(o, i)
		return true
	})
	i.nodes.Range(func(_, g any) bool {
		g.(*guard).observe(o, i)
		return true
	})
	i.jobs.Range(func(_, j any) bool {
		j.(*job).observe(o, i)
		return true
	})
	return nil
}
