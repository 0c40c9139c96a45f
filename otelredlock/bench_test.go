package otelredlock_test

import (
	"context"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/otelredlock"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

// measured returns instruments that record every metric and, if sampled, every span, and send nothing.
func measured(b *testing.B, sampler sdktrace.Sampler) *otelredlock.Instruments {
	tel, err := otelredlock.New(
		otelredlock.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))),
		otelredlock.WithTracerProvider(sdktrace.NewTracerProvider(
			sdktrace.WithSampler(sampler), sdktrace.WithSpanProcessor(drop{}))),
	)
	if err != nil {
		b.Fatal(err)
	}
	return tel
}

// drop is a span processor that costs nothing. Without a processor no span would be recorded.
type drop struct{}

func (drop) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (drop) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (drop) Shutdown(context.Context) error                  { return nil }
func (drop) ForceFlush(context.Context) error                { return nil }

var (
	run    = scheduler.Run{Job: "invoices", Tick: time.Unix(1700000000, 0).UTC(), Token: 1795313814812500, Attempt: 1}
	record = scheduler.Record{
		Run: run, State: scheduler.StateOK, Start: run.Tick, End: run.Tick.Add(time.Second),
	}
)

func work(context.Context, scheduler.Run) error { return nil }

func BenchmarkRenewal(b *testing.B) {
	term := redlocktest.Leader(b).Lead()
	for name, hooks := range map[string]election.Hooks{
		"none": {}, "metrics": measured(b, sdktrace.AlwaysSample()).ElectionHooks("billing"),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if hooks.Renewed != nil {
					hooks.Renewed(term, 1, time.Millisecond, nil)
				}
			}
		})
	}
}

func BenchmarkRun(b *testing.B) {
	sampled, unsampled := measured(b, sdktrace.AlwaysSample()), measured(b, sdktrace.NeverSample())
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(drop{})).Tracer("bare")
	bare := func(ctx context.Context, _ scheduler.Run) error {
		_, span := tracer.Start(ctx, "redlock.job")
		span.End()
		return nil
	}
	for _, c := range []struct {
		name  string
		hooks scheduler.Hooks
		call  func(context.Context, scheduler.Run) error
	}{
		{"none", scheduler.Hooks{}, work},
		{"metrics", sampled.JobHooks(), work},
		{"a bare span of the SDK", scheduler.Hooks{}, bare},
		{"metrics and span", sampled.JobHooks(), sampled.Middleware(work)},
		{"metrics and span not sampled", unsampled.JobHooks(), unsampled.Middleware(work)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.call(b.Context(), run); err != nil {
					b.Fatal(err)
				}
				if c.hooks.Finished != nil {
					c.hooks.Finished(record)
				}
			}
		})
	}
}

// The number of allocations does not depend on the machine. The benchmarks run without the race detector, which adds
// allocations.
func TestHooks_AllocateLittle(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "test", "-run=^$", "-bench=^Benchmark(Renewal|Run)$/^metrics(_and_span_not_sampled)?$",
		"-benchtime=10000x", ".")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := regexp.MustCompile(`Benchmark(\S+) .* (\d+) allocs/op`).FindAllStringSubmatch(string(out), -1)
	if len(found) != 3 {
		t.Fatalf("no three figures in\n%s", out)
	}
	for _, f := range found {
		if n, err := strconv.Atoi(f[2]); err != nil || n > 4 {
			t.Errorf("%s allocates %s times, want 4 at most", f[1], f[2])
		}
	}
}
