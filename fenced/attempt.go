package fenced

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
)

// end is how an attempt has ended.
type end int

const (
	finished    end = iota // with this error, or none
	notAdmitted            // nothing was done; DB.open finds out why
	rolledBack             // nothing was done, and it may be tried again
)

// attempt makes one transaction. A single statement decides whether fn may be called.
func (d *DB) attempt(ctx context.Context, h Holder, fn func(context.Context, *sql.Tx) error) (end, error) {
	id := rand.Text()
	tx, err := d.sql.BeginTx(ctx, nil)
	if err != nil {
		return d.before("begin a transaction", err)
	}
	defer func() { _ = tx.Rollback() }() // also after a panic or Goexit of fn; it does nothing if the transaction has ended
	admitted, err := d.admit(ctx, tx, h, id)
	if err != nil {
		return d.before("check the fence of "+h.String(), err)
	}
	if !admitted {
		return notAdmitted, nil
	}
	if err := fn(ctx, tx); err != nil {
		switch {
		case errors.Is(tx.Rollback(), sql.ErrTxDone) && ctx.Err() == nil:
			_, ended := d.afterCommit(ctx, h, id, sql.ErrTxDone)
			return finished, errors.Join(ended, err)
		case d.dialect.classify(err) == transient:
			return rolledBack, err
		}
		return finished, err
	}
	if end, err := d.stillHeld(ctx, tx, h, id); err != nil {
		return end, err
	}
	if err := tx.Commit(); err != nil {
		return d.afterCommit(ctx, h, id, err)
	}
	return finished, nil
}

// before classifies an error that came before fn was called.
func (d *DB) before(to string, err error) (end, error) {
	if d.dialect.classify(err) == transient {
		return rolledBack, d.failed(to, err)
	}
	return finished, d.failed(to, err)
}

// stillHeld returns [ErrEnded] if the transaction no longer has the key that it recorded. After some errors, such as a
// deadlock, MySQL and SQLite roll back the whole transaction and let the session go on. If fn overlooks such an error,
// it writes without a transaction from then on.
func (d *DB) stillHeld(ctx context.Context, tx *sql.Tx, h Holder, id string) (end, error) {
	if d.say.held == "" || h.Key == "" {
		return finished, nil
	}
	k, err := scan(tx.QueryRowContext(ctx, d.say.held, h.Resource, h.tick(), h.Key))
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && k.attempt != id:
		return finished, &EndedError{Resource: h.Resource, Key: h.Key}
	case err != nil && ctx.Err() == nil && !errors.Is(err, sql.ErrTxDone): // the commit says more about these
		return d.before(fmt.Sprintf("look for key %q before the commit", h.Key), err)
	}
	return finished, nil
}

// admit locks the fence against being raised, checks it, and records the key.
func (d *DB) admit(ctx context.Context, tx *sql.Tx, h Holder, id string) (bool, error) {
	if h.Key == "" {
		var token int64
		err := tx.QueryRowContext(ctx, d.say.admit, h.Resource, int64(h.Token)).Scan(&token)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		return err == nil, err
	}
	result, err := tx.ExecContext(ctx, d.say.admitKey,
		h.tick(), h.Key, id, h.Digest, d.replica, h.Resource, int64(h.Token), h.tick())
	if err != nil {
		return false, err
	}
	rows, err := result.RowsAffected()
	return rows == 1, err
}
