package otelredlock_test

import (
	"context"
	"fmt"
	"log"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/fx"

	"github.com/redlockfx/redlockfx/election"
	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/otelredlock"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

func sendInvoices(context.Context, scheduler.Run) error { return nil }

func Example() {
	telemetry, err := otelredlock.New() // with the global providers
	if err != nil {
		log.Fatal(err)
	}
	locker, err := redlock.Open([]string{"r1:6379", "r2:6379", "r3:6379"})
	if err != nil {
		log.Fatal(err)
	}
	locker.OnNode(telemetry.Node) // until the Locker is closed
	elector, err := election.New(locker, "billing", election.WithHooks(telemetry.ElectionHooks("billing")))
	if err != nil {
		log.Fatal(err)
	}
	jobs, err := scheduler.New(elector,
		scheduler.WithHooks(telemetry.JobHooks()), scheduler.WithMiddleware(telemetry.Middleware))
	if err != nil {
		log.Fatal(err)
	}
	if err := jobs.Add(scheduler.Job{Name: "invoices", Spec: "0 2 * * *", Run: sendInvoices}); err != nil {
		log.Fatal(err)
	}
	log.Print(elector.Run(context.Background()))
}

// Two leaders have attempted the same tick. The spans of both link to the same context.
func ExampleInstruments_Middleware() {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	telemetry, err := otelredlock.New(otelredlock.WithTracerProvider(provider))
	if err != nil {
		log.Fatal(err)
	}
	tick := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	for _, run := range []scheduler.Run{
		{Job: "invoices", Tick: tick, Token: 7, Attempt: 1},
		{Job: "invoices", Tick: tick, Token: 9, Attempt: 2},
	} {
		if err := telemetry.Middleware(sendInvoices)(context.Background(), run); err != nil {
			log.Fatal(err)
		}
	}
	link := otelredlock.TickContext(scheduler.Run{Job: "invoices", Tick: tick})
	for _, span := range spans.Ended() {
		fmt.Println(span.Name(), span.Links()[0].SpanContext.Equal(link))
	}
	// Output:
	// redlock.job true
	// redlock.job true
}

func Example_fx() {
	fx.New(
		fx.Supply(redlockfx.Config{Name: "billing", Nodes: []string{"r1:6379", "r2:6379", "r3:6379"}}),
		fx.Provide(func() (*otelredlock.Instruments, error) { return otelredlock.New() }),
		fx.Invoke(func(l *redlock.Locker, t *otelredlock.Instruments) { l.OnNode(t.Node) }),
		redlockfx.Hooks((*otelredlock.Instruments).JobHooks),
		redlockfx.Hooks(func(t *otelredlock.Instruments) election.Hooks { return t.ElectionHooks("billing") }),
		redlockfx.Options(func(t *otelredlock.Instruments) []scheduler.Option {
			return []scheduler.Option{scheduler.WithMiddleware(t.Middleware)}
		}),
		redlockfx.Module,
		redlockfx.Job(func() scheduler.Job {
			return scheduler.Job{Name: "invoices", Spec: "0 2 * * *", Run: sendInvoices}
		}),
	).Run()
}
