package fenced

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/redlockfx/redlockfx/internal/retry"
)

// afterCommit finds out what became of a transaction whose commit has returned an error.
func (d *DB) afterCommit(ctx context.Context, h Holder, id string, cause error) (end, error) {
	byFn := errors.Is(cause, sql.ErrTxDone) && ctx.Err() == nil
	class := d.dialect.classify(cause)
	if h.Key == "" {
		switch {
		case byFn:
			return finished, &EndedError{Resource: h.Resource}
		case class == transient:
			return rolledBack, d.failed("commit", cause)
		case class == refused:
			return finished, d.failed("commit", cause)
		}
		return finished, fmt.Errorf("%w: %v: it has no key to look for: %w", ErrUnknown, h, cause)
	}
	committed, err := d.committed(ctx, h, id)
	switch {
	case err != nil:
		return finished, fmt.Errorf("%w: %v: %w", ErrUnknown, h, errors.Join(cause, err))
	case byFn:
		return finished, &EndedError{Resource: h.Resource, Key: h.Key, Committed: committed}
	case committed:
		return finished, nil
	case class == refused && ctx.Err() == nil: // as by a deferred constraint, which would refuse it again
		return finished, d.failed("commit", cause)
	}
	return rolledBack, d.failed("commit", cause)
}

// committed reports whether the attempt of this id has recorded the key. It waits until the transaction of the attempt has
// ended.
func (d *DB) committed(ctx context.Context, h Holder, id string) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.settle)
	defer cancel()
	for n := 1; ; n++ {
		yes, err := d.lookFor(ctx, h, id)
		if err == nil {
			return yes, nil
		}
		if ended := retry.Sleep(ctx, pauses.After(n)); ended != nil {
			return false, errors.Join(ended, err)
		}
	}
}

// lookFor sends each statement in its own transaction, so that at any isolation level the last one sees all that was
// committed before the wait was over. If the key is there at once, there is nothing to wait for.
func (d *DB) lookFor(ctx context.Context, h Holder, id string) (bool, error) {
	if k, found, err := d.recorded(ctx, h); err == nil && found && k.attempt == id {
		return true, nil
	}
	if err := d.wait(ctx, h); err != nil {
		return false, d.failed(fmt.Sprintf("wait for the transaction with key %q", h.Key), err)
	}
	k, found, err := d.recorded(ctx, h)
	return found && k.attempt == id, err
}

// wait waits until the transaction that has inserted the key has ended, and for no other: it inserts the same key, and
// rolls back. If it waited for the fence, it would wait for all transactions on the resource, and in PostgreSQL forever
// if they overlap.
func (d *DB) wait(ctx context.Context, h Holder) error {
	tx, err := d.sql.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, d.say.wait, h.Resource, h.tick(), h.Key)
	return errors.Join(err, tx.Rollback())
}
