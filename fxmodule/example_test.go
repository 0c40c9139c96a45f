package redlockfx_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"
	"go.uber.org/zap"

	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

func openDB() (*sql.DB, error) { return sql.Open("postgres", "") }

func newInvoiceJob(db *sql.DB) scheduler.Job {
	return scheduler.Job{
		Name: "invoices", Spec: "0 2 * * *",
		Run: func(ctx context.Context, run scheduler.Run) error { return db.PingContext(ctx) },
	}
}

func Example_production() {
	fx.New(
		fx.Provide(zap.NewProduction, openDB),
		fx.Supply(redlockfx.Config{Name: "billing", Nodes: []string{"r1:6379", "r2:6379", "r3:6379"}}),
		redlockfx.Module,
		redlockfx.Job(newInvoiceJob), // func(*sql.DB) scheduler.Job
	).Run()
}

func Example() {
	nodes, err := redlocktest.Start(1) // in memory
	if err != nil {
		log.Fatal(err)
	}
	defer nodes.Close()
	client := nodes.Process().Clients()[0]

	done := make(chan string, 1)
	app := fx.New(
		fx.NopLogger,
		fx.Supply(redlockfx.Config{Name: "billing"}),
		// In production, in the Config: Nodes: []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"}
		redlockfx.Node(func() redis.UniversalClient { return client }),
		redlockfx.Module,
		redlockfx.Job(func() scheduler.Job {
			return scheduler.Job{Name: "invoices", Spec: "* * * * * *", Run: func(_ context.Context, run scheduler.Run) error {
				select {
				case done <- run.Job:
				default: // one is enough
				}
				return nil
			}}
		}),
	)
	ctx := context.Background()
	fmt.Println(app.Start(ctx))
	fmt.Println(<-done)
	fmt.Println(app.Stop(ctx))
	// Output:
	// <nil>
	// invoices
	// <nil>
}
