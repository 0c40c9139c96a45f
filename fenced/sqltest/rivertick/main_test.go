//go:build unix

package rivertick_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
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

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(closing{m})
}

// closing stops the server after the tests.
type closing struct{ *testing.M }

func (c closing) Run() int {
	code := c.M.Run()
	if server != nil {
		if err := server.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

var (
	startOnce sync.Once
	server    *sqlproc.Server
	errStart  error
)

// database has River's tables and those of package fenced, for one test.
type database struct {
	t    *testing.T
	addr string
	sql  *sql.DB
	dsn  func(addr string) string
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	startOnce.Do(func() { // it outlives the test
		server, errStart = sqlproc.StartPostgreSQL(context.Background(), "fsync=off")
	})
	must(t, errStart)
	d := &database{t: t, addr: server.Addr(), dsn: server.DSN}
	d.sql = d.open(d.addr)
	migrator, err := rivermigrate.New(riverdatabasesql.New(d.sql), nil)
	must(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	must(t, err)
	_, err = d.sql.ExecContext(t.Context(), "DELETE FROM river_job")
	must(t, err, d.fenced(d.sql).Init(t.Context()))
	for _, table := range []string{"redlockfx_keys", "redlockfx_fences WHERE resource <> ''"} {
		_, err = d.sql.ExecContext(t.Context(), "DELETE FROM "+table)
		must(t, err)
	}
	return d
}

// open connects to the server, or to a proxy before it.
func (d *database) open(addr string) *sql.DB {
	d.t.Helper()
	conns, err := sql.Open("pgx", d.dsn(addr))
	must(d.t, err)
	d.t.Cleanup(func() { must(d.t, conns.Close()) })
	return conns
}

func (d *database) fenced(conns *sql.DB) *fenced.DB {
	d.t.Helper()
	db, err := fenced.New(conns, fenced.PostgreSQL)
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

// jobs returns how many jobs River has by the key of their run.
func (d *database) jobs() map[string]int {
	d.t.Helper()
	rows, err := d.sql.QueryContext(d.t.Context(),
		"SELECT metadata->>'redlockfx_key', count(*) FROM river_job GROUP BY 1")
	must(d.t, err)
	defer func() { must(d.t, rows.Close()) }()
	counts := map[string]int{}
	for rows.Next() {
		var key string
		var n int
		must(d.t, rows.Scan(&key, &n))
		counts[key] = n
	}
	must(d.t, rows.Err())
	return counts
}

// wantJobs fails the test unless each of the runs has one job, and nobody else has any.
func (d *database) wantJobs(runs ...scheduler.Run) {
	d.t.Helper()
	counts := d.jobs()
	for _, run := range runs {
		if n := counts[run.Key()]; n != 1 {
			d.t.Errorf("%s has %d jobs, want 1", run.Key(), n)
		}
	}
	if len(counts) != len(runs) {
		d.t.Errorf("jobs of %d ticks, want %d: %v", len(counts), len(runs), counts)
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
