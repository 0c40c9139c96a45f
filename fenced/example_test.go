package fenced_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

var (
	conns   *sql.DB // of your driver
	jobs    *scheduler.Scheduler
	elector *election.Elector
	locker  *redlock.Locker
)

// A job whose rows are written exactly once per tick.
func ExampleJob() {
	db, err := fenced.New(conns, fenced.PostgreSQL)
	if err != nil {
		log.Fatal(err)
	}
	err = jobs.Add(scheduler.Job{
		Name: "invoices", Spec: "0 2 * * *", AtLeastOnce: true, Retry: scheduler.Retry{Times: 5},
		Run: fenced.Job(db, func(ctx context.Context, tx *sql.Tx, run scheduler.Run) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO invoices SELECT ... WHERE due < $1`, run.Tick)
			return err
		}),
	})
	if err != nil {
		log.Fatal(err)
	}
}

// A transaction under a lock.
func ExampleTx() {
	db, err := fenced.New(conns, fenced.PostgreSQL)
	if err != nil {
		log.Fatal(err)
	}
	err = locker.Do(context.Background(), "import", func(ctx context.Context, lease *redlock.Lease) error {
		return fenced.Tx(ctx, db, fenced.Lease(lease), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `UPDATE stock SET ...`)
			return err
		})
	})
	if refused, ok := errors.AsType[*fenced.FencedError](err); ok {
		fmt.Println("a later holder has been there:", refused.Fence)
	}
}

// A leader that reads before it writes.
func ExampleOnLeader() {
	db, err := fenced.New(conns, fenced.PostgreSQL)
	if err != nil {
		log.Fatal(err)
	}
	elector.OnLeader(fenced.OnLeader(db, func(ctx context.Context) {
		// no transaction of an earlier leader is under way on the ledger, and none will come
		<-ctx.Done()
	}, "ledger"))
}
