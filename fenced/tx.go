package fenced

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/retry"
)

// maxAttempts bounds how often a transaction is tried.
const maxAttempts = 12

var pauses = retry.Backoff{Min: 5 * time.Millisecond, Max: time.Second}

// Tx calls fn in a transaction that is committed only if no later holder has shown its token to h.Resource, and h.Key is not
// recorded yet. It records the key in the same transaction. So of all calls with one key, by whatever replica, exactly one takes
// effect; the others return [ErrDone], or [ErrFenced] if a later holder has come.
//
// An error or a panic of fn rolls back the transaction, and Tx passes it on. fn must return at the first error of a
// statement: in MySQL, what it writes after a deadlock is written without a transaction. It must close its rows. It
// must not end the transaction, by a method or by SQL, and must run nothing that commits implicitly, as CREATE TABLE
// does in MySQL. The transaction has the database's default isolation level.
//
// Tx calls fn again, with a new transaction, in two cases. Either the database asks for that (a deadlock, a
// serialization failure, a lock that was not free in time), or the answer to the commit was lost and Tx finds that the
// transaction was rolled back. It does so only when the earlier transaction has certainly ended without effect. Tx
// gives up after 12 attempts.
//
// If the answer to a commit is lost, Tx asks on another connection whether the key is there. For that it waits for the
// lost transaction to end, even if ctx has ended. After the time that [WithSettle] sets, it returns [ErrUnknown].
func Tx(ctx context.Context, db *DB, h Holder, fn func(ctx context.Context, tx *sql.Tx) error) error {
	if err := acceptable(ctx, db, h); err != nil {
		return err
	}
	if fn == nil {
		return fmt.Errorf("fenced: transaction of %v: the function is nil", h)
	}
	if err := db.ready(ctx); err != nil {
		return err
	}
	for n := 1; ; n++ {
		end, err := db.attempt(ctx, h, fn)
		if end == notAdmitted {
			err = db.open(ctx, h)
			if err == nil && n < maxAttempts {
				continue
			}
			if db.dialect.classify(err) == transient {
				end = rolledBack
			}
		}
		switch {
		case end == finished, end == notAdmitted && err != nil:
			return err
		case n == maxAttempts:
			return fmt.Errorf("fenced: transaction of %v: gave up after %d attempts: %w", h, n, cmp.Or(err, errBusy))
		}
		if ended := retry.Sleep(ctx, pauses.After(n)); ended != nil {
			return fmt.Errorf("fenced: transaction of %v was rolled back: %w", h, errors.Join(ended, err))
		}
	}
}

var errBusy = errors.New("the fence changed each time")

// acceptable returns an error if an argument is bad or ctx has ended.
func acceptable(ctx context.Context, db *DB, h Holder) error {
	if db == nil {
		return errors.New("fenced: the DB is nil")
	}
	if err := h.problem(); err != nil {
		return fmt.Errorf("fenced: %w", err)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("fenced: %v: the context has already ended: %w", h, context.Cause(ctx))
	}
	return nil
}
