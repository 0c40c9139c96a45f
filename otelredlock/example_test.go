package otelredlock_test

import (
	"context"
	"log"

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
	locker, err := redlock.Open([]string{"r1:6379", "r2:6379", "r3:6379"}, redlock.WithHooks(telemetry.LockHooks()))
	if err != nil {
		log.Fatal(err)
	}
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

func Example_hooksOfYourOwn() {
	telemetry, err := otelredlock.New()
	if err != nil {
		log.Fatal(err)
	}
	hooks := telemetry.ElectionHooks("billing")
	elected := hooks.Elected
	hooks.Elected = func(t *election.Term) {
		elected(t)
		log.Print("leads")
	}
	_ = election.WithHooks(hooks)
}

func Example_fx() {
	fx.New(
		fx.Supply(redlockfx.Config{Name: "billing", Nodes: []string{"r1:6379", "r2:6379", "r3:6379"}}),
		fx.Provide(func() (*otelredlock.Instruments, error) { return otelredlock.New() }),
		redlockfx.Hooks((*otelredlock.Instruments).LockHooks),
		redlockfx.Hooks((*otelredlock.Instruments).JobHooks),
		redlockfx.Hooks(func(t *otelredlock.Instruments) election.Hooks { return t.ElectionHooks("billing") }),
		redlockfx.Middleware(func(t *otelredlock.Instruments) scheduler.Middleware { return t.Middleware }),
		redlockfx.Module,
		redlockfx.Job(func() scheduler.Job {
			return scheduler.Job{Name: "invoices", Spec: "0 2 * * *", Run: sendInvoices}
		}),
	).Run()
}
