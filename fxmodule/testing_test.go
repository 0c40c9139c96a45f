package redlockfx_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

// t replaces the parameter of the test, which in your package is func TestInvoices(t *testing.T).
var t *testing.T

// Sent is a dependency of the job in this example.
type Sent chan string

// NewInvoices is a constructor of the application.
func NewInvoices(sent Sent) scheduler.Job {
	return scheduler.Job{Name: "invoices", Spec: "@daily", Run: func(context.Context, scheduler.Run) error {
		sent <- "invoices"
		return nil
	}}
}

// A test of an application: it uses the application's own modules and constructors, on in-memory nodes.
func Example_test() {
	nodes := redlocktest.New(t, 1) // started long enough ago to grant a lease at once
	sent := make(Sent, 1)
	var jobs *scheduler.Scheduler
	app := fxtest.New(t,
		redlockfx.Module,
		redlockfx.Job(NewInvoices),
		fx.Supply(redlockfx.Config{Name: "billing"}),
		redlockfx.Node(func() redis.UniversalClient { return nodes.Process().Clients()[0] }),
		fx.Supply(sent),
		fx.Populate(&jobs),
	)
	app.RequireStart()
	defer app.RequireStop()
	run, err := jobs.TriggerAndWait(t.Context(), "invoices") // also waits until this application leads
	if err != nil {
		t.Fatal(err)
	}
	if run.State != scheduler.StateOK || <-sent != "invoices" {
		t.Errorf("the run ended as %+v", run)
	}
}

func TestExample_IsATestThatPasses(test *testing.T) {
	synctest.Test(test, func(test *testing.T) { // so that a busy machine cannot make the node late
		t = test
		Example_test()
	})
}
