package fenced

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/redlockfx/redlockfx/scheduler"
)

// Job returns a function for [scheduler.Job] that calls fn within [Tx], with [Run] as the holder. A run whose tick is already done
// has nothing to do, and succeeds. Set AtLeastOnce in the job: then each tick that is run takes effect exactly once.
func Job(db *DB, fn func(ctx context.Context, tx *sql.Tx, run scheduler.Run) error) func(context.Context, scheduler.Run) error {
	return func(ctx context.Context, run scheduler.Run) error {
		if fn == nil {
			return fmt.Errorf("fenced: job %q: the function is nil", run.Job)
		}
		var failed error // of fn, which may have found that something else is done
		err := Tx(ctx, db, Run(run), func(ctx context.Context, tx *sql.Tx) error {
			failed = fn(ctx, tx, run)
			return failed
		})
		if errors.Is(err, ErrDone) && !errors.Is(failed, ErrDone) {
			return nil
		}
		return err
	}
}
