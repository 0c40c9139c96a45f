package otelredlock_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/otelredlock"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

const ttl = 10 * time.Second

func TestMain(m *testing.M) { testmain.Run(m) }

// telemetry is the telemetry of one process.
type telemetry struct {
	*otelredlock.Instruments
	metrics *sdkmetric.ManualReader
	spans   *tracetest.InMemoryExporter
}

func newTelemetry(t testing.TB) *telemetry {
	t.Helper()
	tel := &telemetry{metrics: sdkmetric.NewManualReader(), spans: tracetest.NewInMemoryExporter()}
	var err error
	tel.Instruments, err = otelredlock.New(
		otelredlock.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(tel.metrics))),
		otelredlock.WithTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(tel.spans))),
	)
	want.NoError(t, err)
	return tel
}

// collect returns the values of all series, and the counts of histograms. The keys are like
// "redlock.job.runs{redlock.job.name=a,redlock.run.outcome=ok}".
func (tel *telemetry) collect(t testing.TB) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	want.NoError(t, tel.metrics.Collect(context.Background(), &all))
	series := map[string]float64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			add := func(attributes attribute.Set, value float64) {
				series[fmt.Sprintf("%s{%s}", m.Name, attributes.Encoded(attribute.DefaultEncoder()))] = value
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					add(p.Attributes, float64(p.Count))
				}
			default:
				t.Fatalf("%s has data of type %T", m.Name, data)
			}
		}
	}
	return series
}

// want checks that these series exist with these values.
func (tel *telemetry) want(t testing.TB, want map[string]float64) {
	t.Helper()
	got := tel.collect(t)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if value, exists := got[name]; !exists || value != want[name] {
			t.Errorf("%s is %v (exists: %v), want %v", name, value, exists, want[name])
		}
	}
	if t.Failed() {
		t.Logf("all series: %v", got)
	}
}

// replica is a process of a service, with its own telemetry.
type replica struct {
	*redlocktest.Process
	*telemetry
	elector *election.Elector
	jobs    *scheduler.Scheduler
	panics  chan string // the stacks that the scheduler reports
	stop    func()      // ends Run and waits
}

func newReplica(t *testing.T, nodes *redlocktest.Nodes, opts ...election.Option) *replica {
	t.Helper()
	r := &replica{Process: nodes.Process(), telemetry: newTelemetry(t), panics: make(chan string, 100)}
	locker := r.Locker()
	locker.OnNode(r.Node)
	var err error
	opts = append(opts, election.WithHooks(r.ElectionHooks("billing")))
	if r.elector, err = election.New(locker, "billing", opts...); err != nil {
		t.Fatal(err)
	}
	hooks := scheduler.Hooks{
		Panicked: func(_ scheduler.Run, _ any, stack []byte) { r.panics <- string(stack) },
	}
	r.jobs, err = scheduler.New(r.elector, scheduler.WithHooks(r.JobHooks()), scheduler.WithHooks(hooks),
		scheduler.WithMiddleware(r.Middleware))
	want.NoError(t, err)
	return r
}

// run campaigns within a span, which may have ended long ago or never end, so no span of a run may be its child.
func (r *replica) run(t *testing.T) {
	ctx, span := sdktrace.NewTracerProvider().Tracer("").Start(context.Background(), "start of the service")
	span.End()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- r.elector.Run(ctx) }() // ends with cancel; stop waits for it
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { r.Heal(); r.stop() })
}

func (r *replica) add(t *testing.T, jobs ...scheduler.Job) {
	t.Helper()
	want.NoError(t, r.jobs.Add(jobs...))
}
