//go:build unix

package sqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

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
