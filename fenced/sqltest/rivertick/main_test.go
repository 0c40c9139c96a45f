//go:build unix

package rivertick_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/rivermigrate"
	"go.uber.org/goleak"

	"github.com/redlockfx/redlockfx/adapters/rivertick"
	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/fenced/sqltest/sqlproc"
	"github.com/redlockfx/redlockfx/scheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// database has River's tables and those of package fenced.
type database struct {
	t   *testing.T
	sql *sql.DB
	dsn string
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	server, err := sqlproc.StartPostgreSQL(t.Context(), "fsync=off")
	must(t, err)
	t.Cleanup(func() { must(t, server.Close()) })
	d := &database{t: t, dsn: server.DSN(server.Addr())}
	d.sql, err = sql.Open("pgx", d.dsn)
	must(t, err)
	t.Cleanup(func() { must(t, d.sql.Close()) })
	migrator, err := rivermigrate.New(riverdatabasesql.New(d.sql), nil)
	must(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	must(t, err, d.fenced().Init(t.Context()))
	return d
}

// emptied returns the database for a subtest, without the rows of those before it.
func (d *database) emptied(t *testing.T) *database {
	for _, table := range []string{"river_job", "redlockfx_keys", "redlockfx_fences WHERE resource <> ''"} {
		_, err := d.sql.ExecContext(t.Context(), "DELETE FROM "+table)
		must(t, err)
	}
	return &database{t: t, sql: d.sql, dsn: d.dsn}
}

func (d *database) fenced() *fenced.DB {
	d.t.Helper()
	db, err := fenced.New(d.sql, fenced.PostgreSQL)
	must(d.t, err)
	return db
}

type report struct {
	Until time.Time `json:"until"`
}

func (report) Kind() string { return "report" }

func args(_ context.Context, run scheduler.Run) (river.JobArgs, error) { return report{run.Tick}, nil }

// insert is a job over these connections.
func insert(conns *sql.DB, opts *river.InsertOpts) (func(context.Context, scheduler.Run) error, error) {
	db, err := fenced.New(conns, fenced.PostgreSQL)
	if err != nil {
		return nil, err
	}
	client, err := river.NewClient(riverdatabasesql.New(conns), &river.Config{})
	if err != nil {
		return nil, err
	}
	return rivertick.Job(db, client, args, opts)
}

// wantJobs fails the test unless River has one job for each of the runs, by its key, and no other job.
func (d *database) wantJobs(runs ...scheduler.Run) {
	d.t.Helper()
	rows, err := d.sql.QueryContext(d.t.Context(), "SELECT metadata->>'redlockfx_key' FROM river_job")
	must(d.t, err)
	defer func() { must(d.t, rows.Close()) }()
	var got, want []string
	for rows.Next() {
		var key string
		must(d.t, rows.Scan(&key))
		got = append(got, key)
	}
	must(d.t, rows.Err())
	for _, run := range runs {
		want = append(want, run.Key())
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		d.t.Errorf("there are jobs of %q, want %q", got, want)
	}
}

// tick is the nth run of a job.
func tick(n, attempt int) scheduler.Run {
	return scheduler.Run{Job: "report", Tick: start.Add(time.Duration(n) * time.Second), Token: 7, Attempt: attempt}
}

var start = time.Now().Add(-time.Hour).Truncate(time.Second).UTC()

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
