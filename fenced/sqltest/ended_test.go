//go:build unix

package sqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	_ "github.com/lib/pq" // the driver

	"github.com/redlockfx/redlockfx/fenced"
)

func TestTx_SaysHowItsFunctionHasEndedTheTransaction(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced()
		mine := errors.New("mine")
		for n, test := range []struct {
			end       func(*sql.Tx) error
			after     error
			committed bool
		}{
			{(*sql.Tx).Commit, nil, true}, {(*sql.Tx).Commit, mine, true},
			{(*sql.Tx).Rollback, nil, false}, {(*sql.Tx).Rollback, mine, false},
		} {
			err := fenced.Tx(t.Context(), db, holder(7, n), func(ctx context.Context, tx *sql.Tx) error {
				must(t, d.effect("one")(ctx, tx), test.end(tx))
				return test.after
			})
			var ended *fenced.EndedError
			if !errors.Is(err, fenced.ErrEnded) || !errors.As(err, &ended) || ended.Committed != test.committed {
				t.Errorf("case %d: %v", n, err)
			}
			if !errors.Is(err, test.after) && test.after != nil {
				t.Errorf("case %d hides the error of the function: %v", n, err)
			}
		}
		d.wantEffects(2)
		err := fenced.Tx(t.Context(), db, plain(7), func(_ context.Context, tx *sql.Tx) error { return tx.Commit() })
		if !errors.Is(err, fenced.ErrEnded) {
			t.Errorf("without a key: %v", err)
		}
	})
}

// What these databases end without a method of sql.Tx, database/sql takes for a transaction that goes on.
func TestTx_FindsThatItsTransactionWasRolledBackByAStatement(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		db := d.fenced()
		err := fenced.Tx(t.Context(), db, holder(7, 1), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "ROLLBACK")
			return err
		})
		var ended *fenced.EndedError
		if !errors.As(err, &ended) || ended.Committed {
			t.Errorf("got %v", err)
		}
		must(t, fenced.Tx(t.Context(), db, holder(7, 1), d.effect("one")))
		d.wantEffects(1)
	}, fenced.MySQL, fenced.SQLite)
}

// The function overlooks that a deadlock has ended its transaction.
func TestTx_FindsThatADeadlockWasOverlooked(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		var failed [2]error
		_, errs := d.crossing(d.twoRows(), func(n int, err error) error {
			failed[n] = err
			return nil
		})
		if (failed[0] == nil) == (failed[1] == nil) {
			t.Fatalf("no deadlock: %v", failed)
		}
		for n := range errs {
			if errors.Is(errs[n], fenced.ErrEnded) != (failed[n] != nil) {
				t.Errorf("transaction %d: its statement said %v, Tx says %v", n, failed[n], errs[n])
			}
		}
	}, fenced.MySQL)
}

// PostgreSQL rolls back where it is asked to commit.
func TestTx_FailsOnceIfItsFunctionOverlooksAnError(t *testing.T) {
	forEach(t, func(t *testing.T, d *database) {
		d.fenced()
		for _, driver := range []string{"pgx", "postgres"} { // the second one is lib/pq
			conns, err := sql.Open(driver, d.server.DSN(d.server.Addr()))
			must(t, err)
			for _, h := range []fenced.Holder{holder(7, 1), plain(7)} {
				calls := 0
				err := fenced.Tx(t.Context(), d.over(conns), h, counted(&calls, func(ctx context.Context, tx *sql.Tx) error {
					if _, err := tx.ExecContext(ctx, "SELECT 1/0"); err == nil {
						t.Error("the statement succeeds")
					}
					return nil
				}))
				if err == nil || errors.Is(err, fenced.ErrUnknown) || calls != 1 {
					t.Errorf("%s: %v: %d calls, %v", driver, h, calls, err)
				}
			}
			must(t, conns.Close())
		}
	}, fenced.PostgreSQL)
}
