package otelredlock_test

import (
	"context"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/redlockfx/redlockfx/otelredlock"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

// measured returns instruments that record every metric and, if sampled, every span, and send nothing.
func measured(tb testing.TB, sampler sdktrace.Sampler) *otelredlock.Instruments {
	tel, err := otelredlock.New(
		otelredlock.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))),
		otelredlock.WithTracerProvider(sdktrace.NewTracerProvider(
			sdktrace.WithSampler(sampler), sdktrace.WithSpanProcessor(drop{}))),
	)
	if err != nil {
		tb.Fatal(err)
	}
	return tel
}

// drop is a span processor that costs nothing. Without a processor no span would be recorded.
type drop struct{}

func (drop) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (drop) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (drop) Shutdown(context.Context) error                  { return nil }
func (drop) ForceFlush(context.Context) error                { return nil }

var record = scheduler.Record{
	Run:   scheduler.Run{Job: "invoices", Tick: time.Unix(1700000000, 0).UTC(), Token: 1795313814812500, Attempt: 1},
	State: scheduler.StateOK,
}

func work(context.Context, scheduler.Run) error { return nil }

// calls are what a renewal and a run cost, without and with telemetry.
func calls(tb testing.TB) []call {
	term := redlocktest.Leader(tb).Lead()
	sampled, unsampled := measured(tb, sdktrace.AlwaysSample()), measured(tb, sdktrace.NeverSample())
	renewed := sampled.ElectionHooks("billing").Renewed
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(drop{})).Tracer("bare")
	ran := func(tel *otelredlock.Instruments, run func(context.Context, scheduler.Run) error) func() {
		finished := tel.JobHooks().Finished
		return func() {
			if err := run(context.Background(), record.Run); err != nil {
				tb.Error(err)
			}
			finished(record)
		}
	}
	return []call{
		{"renewal, metrics", 0, func() { renewed(term, 1, time.Millisecond, nil) }},
		{"run, metrics", 0, ran(sampled, work)},
		{"run, a bare span of the SDK", -1, func() { _, span := tracer.Start(context.Background(), "redlock.job"); span.End() }},
		{"run, metrics and span", -1, ran(sampled, sampled.Middleware(work))},
		{"run, metrics and span not sampled", 4, ran(unsampled, unsampled.Middleware(work))},
	}
}

// call is called once for each renewal or run.
type call struct {
	name        string
	allocations int // at most; -1 is for the SDK to decide
	do          func()
}

func Benchmark(b *testing.B) {
	for _, c := range calls(b) {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.do()
			}
		})
	}
}

// The number of allocations does not depend on the machine.
func TestHooks_AllocateLittle(t *testing.T) {
	for _, c := range calls(t) {
		if n := testing.AllocsPerRun(10000, c.do); c.allocations >= 0 && n > float64(c.allocations) {
			t.Errorf("%s allocates %v times, want %d at most", c.name, n, c.allocations)
		}
	}
}
