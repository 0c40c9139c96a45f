package rivertick_test

import (
	"context"
	"database/sql"
	"log"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"

	"github.com/redlockfx/redlockfx/adapters/rivertick"
	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/scheduler"
)

var (
	conns     *sql.DB // of the PostgreSQL that has River's tables
	scheduled *scheduler.Scheduler
)

type sendInvoices struct {
	Until time.Time `json:"until"`
}

func (sendInvoices) Kind() string { return "send_invoices" }

func Example() {
	db, err := fenced.New(conns, fenced.PostgreSQL)
	if err != nil {
		log.Fatal(err)
	}
	client, err := river.NewClient(riverdatabasesql.New(conns), &river.Config{})
	if err != nil {
		log.Fatal(err)
	}
	args := func(_ context.Context, run scheduler.Run) (river.JobArgs, error) {
		return sendInvoices{Until: run.Tick}, nil
	}
	insert, err := rivertick.Job(db, client, args, &river.InsertOpts{Queue: "billing"})
	if err != nil {
		log.Fatal(err)
	}
	err = scheduled.Add(scheduler.Job{
		Name: "invoices", Spec: "0 2 * * *", AtLeastOnce: true, Retry: scheduler.Retry{Times: 5}, Run: insert,
	})
	if err != nil {
		log.Fatal(err)
	}
}
