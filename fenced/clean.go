package fenced

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

const cleanAttempts = 3 // for each resource, if a lock is not free in time or there is a deadlock

// Clean removes at most n keys whose ticks are older than the retention, by the clock of the database, and returns how many it
// has removed. Call it now and then on the leader, for example in a job; call it again if it has removed n.
//
// Before Clean removes keys of a resource, it stores the tick up to which it removes them. From then on, a holder whose
// key has such a tick and is not recorded gets [ErrCleaned], so it is not run a second time by mistake. To store the
// tick, Clean waits for the transactions that are under way on that resource, and others wait behind it. It tries three
// times: in PostgreSQL for a second each, elsewhere for as long as the database waits for locks. If a transaction takes
// longer, Clean goes on with the other resources, and the error names this one.
func (d *DB) Clean(ctx context.Context, n int) (removed int, err error) {
	if n <= 0 {
		return 0, fmt.Errorf("fenced: clean: n is %d, must be at least 1", n)
	}
	if err := d.ready(ctx); err != nil {
		return 0, err
	}
	var now int64
	if err := d.sql.QueryRowContext(ctx, d.say.now).Scan(&now); err != nil {
		return 0, d.failed("read the clock of the database", err)
	}
	until := now - d.retention.Microseconds()
	resources, err := d.due(ctx, until)
	if err != nil {
		return 0, d.failed("look for old keys", err)
	}
	var problems []error
	for _, resource := range resources {
		if removed == n {
			break
		}
		if ended := context.Cause(ctx); ended != nil {
			problems = append(problems, fmt.Errorf("fenced: stopped before removing old keys of %q: %w", resource, ended))
			break
		}
		some, err := d.cleanResource(ctx, resource, until, n-removed)
		removed += some
		if err != nil {
			problems = append(problems, d.failed(fmt.Sprintf("remove old keys of %q", resource), err))
		}
	}
	return removed, errors.Join(problems...)
}

// due returns the resources that have keys with ticks up to an instant.
func (d *DB) due(ctx context.Context, until int64) (resources []string, err error) {
	rows, err := d.sql.QueryContext(ctx, d.say.due, until)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var resource string
		if err := rows.Scan(&resource); err != nil {
			return nil, err
		}
		resources = append(resources, resource)
	}
	return resources, rows.Err()
}

// cleanResource marks before it removes. The mark takes the fence's lock, and so waits for all transactions that have
// not seen the mark.
func (d *DB) cleanResource(ctx context.Context, resource string, until int64, n int) (int, error) {
	var newest sql.NullInt64
	if err := d.sql.QueryRowContext(ctx, d.say.newest, resource, until, n).Scan(&newest); err != nil || !newest.Valid {
		return 0, err
	}
	tick := newest.Int64
	if err := d.again(ctx, cleanAttempts, func() error { return d.mark(ctx, resource, tick) }); err != nil {
		return 0, err
	}
	args := []any{resource, tick, n}
	if d.dialect != MySQL {
		args = append(args, resource)
	}
	var removed int64
	err := d.again(ctx, cleanAttempts, func() error {
		result, err := d.sql.ExecContext(ctx, d.say.remove, args...)
		if err != nil {
			return err
		}
		removed, err = result.RowsAffected()
		return err
	})
	return int(removed), err
}

// mark stores up to which tick keys of the resource may be removed.
func (d *DB) mark(ctx context.Context, resource string, tick int64) error {
	tx, err := d.sql.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if d.say.lockTimeout != "" {
		if _, err := tx.ExecContext(ctx, d.say.lockTimeout); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, d.say.mark, tick, resource, tick); err != nil {
		return err
	}
	return tx.Commit()
}
