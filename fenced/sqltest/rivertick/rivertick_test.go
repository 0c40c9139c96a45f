//go:build unix

package rivertick_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/redlockfx/redlockfx/adapters/rivertick"
	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/scheduler"
)

// The subtests share a server.
func TestJob(t *testing.T) {
	d := newDatabase(t)
	t.Run("inserts a job once", func(t *testing.T) { insertsAJobOnce(t, d.emptied(t)) })
	t.Run("is retried after an error", func(t *testing.T) { isRetriedAfterAnError(t, d.emptied(t)) })
	t.Run("is worked by a client of pgx", func(t *testing.T) { isWorkedByAClientOfPgx(t, d.emptied(t)) })
}

// What River has forgotten is not inserted again: it removes completed jobs after a day. A deposed leader inserts nothing.
func insertsAJobOnce(t *testing.T, d *database) {
	send, err := insert(d.sql, &river.InsertOpts{Queue: "billing", Priority: 3, Metadata: []byte(`{"by":"us"}`)})
	must(t, err, send(t.Context(), tick(1, 1)))
	d.wantJobs(tick(1, 1))
	var queue, by, kind, until string
	must(t, d.sql.QueryRowContext(t.Context(), "SELECT queue, metadata->>'by', kind, args->>'until' FROM river_job WHERE priority = 3").
		Scan(&queue, &by, &kind, &until))
	if queue != "billing" || by != "us" || kind != "report" || !strings.HasPrefix(until, start.Format("2006")) {
		t.Errorf("the job is %q, %q, %q, %q", queue, by, kind, until)
	}
	_, err = d.sql.ExecContext(t.Context(), "DELETE FROM river_job")
	must(t, err, send(t.Context(), tick(1, 2)))
	d.wantJobs()
	later := tick(2, 1)
	later.Token = 8
	must(t, send(t.Context(), later))
	if err := send(t.Context(), tick(3, 1)); !errors.Is(err, fenced.ErrFenced) {
		t.Errorf("got %v", err)
	}
	d.wantJobs(later)
}

// An error of River, as for options that it refuses, rolls back the key too.
func isRetriedAfterAnError(t *testing.T, d *database) {
	bad, nothing := errors.New("no template"), false
	client, err := river.NewClient(riverdatabasesql.New(d.sql), &river.Config{})
	must(t, err)
	send, err := rivertick.Job(d.fenced(), client, func(_ context.Context, run scheduler.Run) (river.JobArgs, error) {
		if nothing {
			return nil, nil
		}
		return report{run.Tick}, bad
	}, nil)
	must(t, err)
	if err := send(t.Context(), tick(1, 1)); !errors.Is(err, bad) {
		t.Errorf("got %v", err)
	}
	nothing = true
	if err := send(t.Context(), tick(1, 2)); err == nil || !strings.Contains(err.Error(), "are nil") {
		t.Errorf("no arguments: %v", err)
	}
	refused, err := insert(d.sql, &river.InsertOpts{Priority: 9})
	must(t, err)
	if err := refused(t.Context(), tick(1, 2)); err == nil || !strings.Contains(err.Error(), `failed to insert a job "report" for report@`) {
		t.Errorf("got %v", err)
	}
	d.wantJobs()
	nothing, bad = false, nil
	must(t, send(t.Context(), tick(1, 3)))
	d.wantJobs(tick(1, 3))
}

// worker tells the key of each job.
type worker struct {
	river.WorkerDefaults[report]
	keys chan string
}

func (w worker) Work(_ context.Context, job *river.Job[report]) error {
	key, _ := rivertick.Key(job.JobRow)
	w.keys <- key
	return nil
}

// A service on pgx: its jobs are inserted over database/sql, and its workers stay on riverpgxv5.
func isWorkedByAClientOfPgx(t *testing.T, d *database) {
	pool, err := pgxpool.New(t.Context(), d.dsn)
	must(t, err)
	defer pool.Close()
	conns := stdlib.OpenDBFromPool(pool)
	defer func() { must(t, conns.Close()) }()
	send, err := insert(conns, nil)
	must(t, err)

	workers, keys := river.NewWorkers(), make(chan string, 10)
	river.AddWorker(workers, worker{keys: keys})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Workers: workers, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 2}},
	})
	must(t, err, client.Start(context.Background()))
	defer func() { must(t, client.Stop(context.Background())) }()

	for attempt := 1; attempt <= 3; attempt++ {
		must(t, send(t.Context(), tick(1, attempt)))
	}
	must(t, send(t.Context(), tick(2, 1)))
	worked := map[string]bool{<-keys: true, <-keys: true} // in any order
	for _, want := range []scheduler.Run{tick(1, 1), tick(2, 1)} {
		if !worked[want.Key()] {
			t.Errorf("%q is not worked, but %v", want.Key(), worked)
		}
	}
	d.wantJobs(tick(1, 1), tick(2, 1))
}
