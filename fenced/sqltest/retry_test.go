//go:build unix

package sqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/fenced"
)

// twoRows makes a table with two rows: whoever updates them in another order than somebody else gets a deadlock.
func (d *database) twoRows() (table string) {
	d.t.Helper()
	table = d.effects + "_rows"
	d.exec("CREATE TABLE " + table + " (id INT PRIMARY KEY, n INT)")
	d.exec("INSERT INTO " + table + " VALUES (1, 0), (2, 0)")
	return table
}

// openWithoutWaiting connects to SQLite without a busy timeout.
func (d *database) openWithoutWaiting() *sql.DB {
	d.t.Helper()
	conns, err := sql.Open("sqlite", "file:"+d.file)
	must(d.t, err)
	d.t.Cleanup(func() { must(d.t, conns.Close()) })
	return conns
}

// crossing runs two transactions at a time that update two rows in opposite orders: at their first calls, each has the
// row that the other one wants next. second gets the error of the second update, and returns that of the function.
func (d *database) crossing(rows string, second func(n int, err error) error) (calls [2]int, errs [2]error) {
	d.t.Helper()
	db := d.fenced()
	must(d.t, fenced.Claim(d.t.Context(), db, plain(7))) // otherwise one of them may have to wait for the other one
	var both, all sync.WaitGroup
	both.Add(2)
	for n, order := range [][2]string{{"1", "2"}, {"2", "1"}} {
		all.Go(func() { // waited for below
			errs[n] = fenced.Tx(d.t.Context(), db, holder(7, n), func(ctx context.Context, tx *sql.Tx) error {
				calls[n]++
				if _, err := tx.ExecContext(ctx, "UPDATE "+rows+" SET n = n + 1 WHERE id = "+order[0]); err != nil {
					return err
				}
				if calls[n] == 1 {
					both.Done()
					both.Wait()
				}
				_, err := tx.ExecContext(ctx, "UPDATE "+rows+" SET n = n + 1 WHERE id = "+order[1])
				return second(n, err)
			})
		})
	}
	all.Wait()
	return calls, errs
}

func TestTx_IsRepeatedAfterADeadlock(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		rows := d.twoRows()
		calls, errs := d.crossing(rows, func(_ int, err error) error { return err })
		must(t, errs[:]...)
		var least int
		must(t, d.sql.QueryRowContext(t.Context(), "SELECT MIN(n) FROM "+rows).Scan(&least))
		if least != 2 || calls[0]+calls[1] < 3 {
			t.Errorf("rows were raised %d times, in %v calls", least, calls)
		}
	}, fenced.PostgreSQL, fenced.MySQL)
}

func TestTx_IsRepeatedAfterASerializationFailure(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		d.fenced()
		db := d.over(d.open("", "default_transaction_isolation=serializable"))
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() { // waited for below
				err := fenced.Tx(t.Context(), db, holder(7, n), func(ctx context.Context, tx *sql.Tx) error {
					var count int
					err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+d.effects).Scan(&count)
					return errors.Join(err, d.effect("one")(ctx, tx))
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		d.wantEffects(8)
	}, fenced.PostgreSQL)
}

func TestTx_GivesUp(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced()
		calls := 0
		must(t, fenced.Claim(t.Context(), db, plain(7)))
		err := fenced.Tx(t.Context(), db, holder(7, 1), func(ctx context.Context, tx *sql.Tx) error {
			calls++
			return errors.Join(d.effect("never")(ctx, tx), deadlock{})
		})
		if !errors.Is(err, deadlock{}) || !strings.Contains(err.Error(), "12 attempts") || calls != 12 {
			t.Errorf("%d calls, %v", calls, err)
		}
		d.wantEffects(0)
	})
}

// deadlock is one in each dialect.
type deadlock struct{}

func (deadlock) Error() string    { return "Error 1213 (40001): database is locked" }
func (deadlock) SQLState() string { return "40P01" }

// A lock timeout is repeated. A raise that fails so is one of the attempts, and is not repeated within one.
func TestTx_GivesUpIfAnEarlierHolderDoesNotEnd(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced()
		impatient := d.over(d.open("", "lock_timeout=10"))
		must(t, fenced.Tx(t.Context(), db, holder(7, 1), func(ctx context.Context, _ *sql.Tx) error {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			err := fenced.Tx(ctx, impatient, holder(8, 2), d.effect("never"))
			if err == nil || !strings.Contains(err.Error(), "12 attempts") {
				t.Error(err)
			}
			return nil
		}))
	}, fenced.PostgreSQL)
}

// Without a busy timeout, SQLite refuses at once what another connection is in the way of: writing, or reading too.
func TestSQLiteWithoutABusyTimeout_IsWaitedFor(t *testing.T) {
	for mode, begin := range map[string]string{"WAL": "BEGIN IMMEDIATE", "DELETE": "BEGIN EXCLUSIVE"} {
		t.Run(mode, func(t *testing.T) {
			d := newDatabase(t, fenced.SQLite)
			d.fenced()
			d.exec("PRAGMA journal_mode=" + mode)
			conns, calls := d.openWithoutWaiting(), 0
			db := d.over(conns)
			must(t, db.Check(t.Context()))
			for _, do := range []func() error{
				func() error { return fenced.Tx(t.Context(), db, holder(7, 1), counted(&calls, d.effect("one"))) },
				func() error { return fenced.Claim(t.Context(), db, plain(8)) },
				func() error { return d.over(conns, fenced.WithTables("f", "k")).Init(t.Context()) },
			} {
				other, err := d.sql.Conn(t.Context())
				must(t, err)
				_, err = other.ExecContext(t.Context(), begin)
				must(t, err)
				d.wantWait(func() error {
					_, err := other.ExecContext(t.Context(), "COMMIT")
					return errors.Join(err, other.Close())
				}, do)
			}
			if calls != 1 {
				t.Errorf("%s: %d calls", mode, calls)
			}
			d.wantEffects(1)
		})
	}
}
