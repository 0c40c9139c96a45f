//go:build unix

package sqltest_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/fenced/sqltest/sqlproc"
)

// database is one that a test has tables of its own in.
type database struct {
	t       *testing.T
	dialect fenced.Dialect
	server  *sqlproc.Server // nil: SQLite
	file    string          // of SQLite
	sql     *sql.DB
	effects string // a table with a row for each effect
	opts    []fenced.Option
}

var tested atomic.Int64

// forEach runs a test on each of the databases; on all if none is named.
func forEach(t *testing.T, test func(t *testing.T, d *database), only ...fenced.Dialect) {
	if len(only) == 0 {
		only = []fenced.Dialect{fenced.PostgreSQL, fenced.MySQL, fenced.SQLite}
	}
	for _, dialect := range only {
		name := map[fenced.Dialect]string{fenced.PostgreSQL: "PostgreSQL", fenced.MySQL: "MariaDB", fenced.SQLite: "SQLite"}[dialect]
		t.Run(name, func(t *testing.T) {
			t.Parallel() // beside the other databases, not beside the other tests
			test(t, newDatabase(t, dialect))
		})
	}
}

func newDatabase(t *testing.T, dialect fenced.Dialect) *database {
	n := tested.Add(1)
	d := &database{t: t, dialect: dialect, effects: fmt.Sprintf("effects_%d", n)}
	d.opts = []fenced.Option{
		fenced.WithTables(fmt.Sprintf("fences_%d", n), fmt.Sprintf("keys_%d", n)), fenced.WithReplica("tester"),
	}
	switch dialect {
	case fenced.PostgreSQL:
		d.server = postgres
	case fenced.MySQL:
		d.server = mariadb
	default:
		d.file = filepath.Join(t.TempDir(), "db")
	}
	d.sql = d.open("")
	d.exec("CREATE TABLE " + d.effects + " (what VARCHAR(100))")
	return d
}

// open connects to the server, or to the proxy at addr. More are parameters of the data source.
func (d *database) open(addr string, more ...string) *sql.DB {
	d.t.Helper()
	driver, dsn := "sqlite", "file:"+d.file+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)"
	if d.server != nil {
		if addr == "" {
			addr = d.server.Addr()
		}
		driver, dsn = d.server.Driver, d.server.DSN(addr)
	}
	for _, m := range more {
		mark := "?"
		if strings.Contains(dsn, "?") {
			mark = "&"
		}
		dsn += mark + m
	}
	db, err := sql.Open(driver, dsn)
	must(d.t, err)
	d.t.Cleanup(func() { _ = db.Close() })
	return db
}

// fenced returns the library's view, with its tables.
func (d *database) fenced(opts ...fenced.Option) *fenced.DB {
	d.t.Helper()
	db := d.over(d.sql, opts...)
	must(d.t, db.Init(d.t.Context()))
	return db
}

// over is fenced over other connections, without creating tables.
func (d *database) over(conns *sql.DB, opts ...fenced.Option) *fenced.DB {
	d.t.Helper()
	db, err := fenced.New(conns, d.dialect, append(d.opts, opts...)...)
	must(d.t, err)
	return db
}

func (d *database) exec(statement string) {
	d.t.Helper()
	_, err := d.sql.ExecContext(d.t.Context(), statement)
	must(d.t, err)
}

// effect returns a function that writes a row.
func (d *database) effect(what string) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO "+d.effects+" VALUES ('"+what+"')")
		return err
	}
}

// count returns how many rows there are.
func (d *database) count() (n int) {
	d.t.Helper()
	must(d.t, d.sql.QueryRowContext(d.t.Context(), "SELECT COUNT(*) FROM "+d.effects).Scan(&n))
	return n
}

// under starts a transaction of a holder, and returns when its function is under way. The function ends when leave is
// called, which returns the outcome.
func (d *database) under(db *fenced.DB, h fenced.Holder, last func(context.Context, *sql.Tx) error) (leave func() error) {
	inside, goOn, over := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() { // received by leave
		over <- fenced.Tx(d.t.Context(), db, h, func(ctx context.Context, tx *sql.Tx) error {
			close(inside)
			<-goOn
			return last(ctx, tx)
		})
	}()
	<-inside
	return func() error {
		close(goOn)
		return <-over
	}
}

func nothing(context.Context, *sql.Tx) error { return nil }

// wantWait checks that do waits until what it needs is free, and then succeeds.
func (d *database) wantWait(free, do func() error) {
	d.t.Helper()
	over := make(chan error, 1)
	go func() { over <- do() }() // received below
	select {
	case err := <-over:
		d.t.Errorf("it did not wait: %v", err)
		over <- nil
	case <-time.After(100 * time.Millisecond): // what is wrong is shown at once
	}
	must(d.t, free(), <-over)
}

func (d *database) wantEffects(want int) {
	d.t.Helper()
	if got := d.count(); got != want {
		d.t.Errorf("%d effects, want %d", got, want)
	}
}

// tick is recent enough that nothing is cleaned.
var tick = time.Now().Add(-time.Minute).Truncate(time.Millisecond)

// holder has a key that belongs to its tick.
func holder(token uint64, n int) fenced.Holder {
	at := tick.Add(time.Duration(n) * time.Millisecond)
	return fenced.Holder{Resource: "ledger", Token: token, Key: fmt.Sprintf("job@%d", at.UnixMilli()), Tick: at}
}

// plain has no key.
func plain(token uint64) fenced.Holder { return fenced.Holder{Resource: "ledger", Token: token} }
