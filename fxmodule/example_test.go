package redlockfx_test

import (
	"context"
	"database/sql"

	"go.uber.org/fx"
	"go.uber.org/zap"

	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/scheduler"
)

func openDB() (*sql.DB, error) { return sql.Open("postgres", "") }

func newInvoiceJob(db *sql.DB) scheduler.Job {
	return scheduler.Job{
		Name: "invoices", Spec: "0 2 * * *",
		Run: func(ctx context.Context, run scheduler.Run) error { return db.PingContext(ctx) },
	}
}

func Example() {
	fx.New(
		fx.Provide(zap.NewProduction, openDB),
		fx.Supply(redlockfx.Config{Name: "billing", Nodes: []string{"r1:6379", "r2:6379", "r3:6379"}}),
		redlockfx.Module,
		redlockfx.Job(newInvoiceJob), // func(*sql.DB) scheduler.Job
	).Run()
}
