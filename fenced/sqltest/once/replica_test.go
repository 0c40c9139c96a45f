//go:build unix

package once_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// settingsVariable holds settings, as JSON. It makes the test binary a replica.
const settingsVariable = "REDLOCKFX_TEST_ONCE"

const ttl = 3 * time.Second

type settings struct {
	Nodes   []string
	Driver  string
	DSN     string
	Dialect fenced.Dialect
	Jobs    int
	Plain   bool // without package fenced
}

// replica is the service as a user would write it, plus the steps at which it kills or stops itself.
type replica struct {
	settings
	steps
	sql *sql.DB
	db  *fenced.DB
}

// beReplica returns with an error, if at all.
func beReplica(variable string) error {
	var r replica
	if err := json.Unmarshal([]byte(variable), &r.settings); err != nil {
		return err
	}
	var err error
	if r.sql, err = sql.Open(r.Driver, r.DSN); err != nil {
		return err
	}
	r.sql.SetMaxIdleConns(r.Jobs)
	if r.db, err = fenced.New(r.sql, r.Dialect); err != nil {
		return err
	}
	locker, err := redlock.Open(r.Nodes, redlock.WithTTL(ttl), redlock.WithNodeTimeout(ttl/10))
	if err != nil {
		return err
	}
	elector, err := election.New(locker, "once", election.OnLeader(func(ctx context.Context) {
		tell(event{Leads: true})
		<-ctx.Done()
	}))
	if err != nil {
		return err
	}
	jobs, err := scheduler.New(elector)
	if err != nil {
		return err
	}
	for n := range r.Jobs {
		err := jobs.Add(scheduler.Job{
			Name: fmt.Sprintf("job %d", n), Spec: "@every 1s", Run: r.run, AtLeastOnce: true,
			CatchUp: scheduler.CatchUpAll(time.Hour), Overlap: scheduler.Queue,
			Retry: scheduler.Retry{Times: 100, Wait: 50 * time.Millisecond},
		})
		if err != nil {
			return err
		}
	}
	go r.obey() // ends with the process
	return elector.Run(context.Background())
}

// run is the job.
func (r *replica) run(ctx context.Context, run scheduler.Run) error {
	r.at(beforeFence)
	work := func(ctx context.Context, tx *sql.Tx) error {
		r.at(beforeEffect)
		insert := fmt.Sprintf(`INSERT INTO effects VALUES ('%s', %d)`, run.Job, run.Tick.Unix())
		if _, err := tx.ExecContext(ctx, insert); err != nil {
			return err
		}
		r.at(beforeCommit)
		return nil
	}
	var err error
	if r.Plain {
		err = r.plain(ctx, work)
	} else {
		err = fenced.Tx(ctx, r.db, fenced.Run(run), work)
	}
	if errors.Is(err, fenced.ErrDone) {
		return nil
	}
	if err == nil {
		r.at(beforeEnd)
	}
	return err
}

func (r *replica) plain(ctx context.Context, work func(context.Context, *sql.Tx) error) error {
	tx, err := r.sql.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if err := work(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}
