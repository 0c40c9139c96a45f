package fenced

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// schemaVersion is stored as the token of the resource without a name. Change it whenever a table changes.
const schemaVersion = 1

// Schema returns the statements that create the tables, for a manual migration. They change nothing if the tables exist.
func Schema(dialect Dialect, opts ...Option) (string, error) {
	c, err := newConfig(opts)
	if err == nil && (dialect < PostgreSQL || dialect > SQLite) {
		err = fmt.Errorf("unknown dialect %v", dialect)
	}
	if err != nil {
		return "", fmt.Errorf("fenced: %w", err)
	}
	say := dialect.statements(c.tables)
	version := numbered.ReplaceAllString(strings.Replace(say.stamp, "?", "$1", 1), fmt.Sprint(schemaVersion))
	return strings.Join(append(say.schema, version), ";\n\n") + ";\n", nil
}

// Init creates the tables unless they exist. Replicas may call it at the same time. The error is [ErrSchema] if the tables are of
// another version: then nothing is changed.
func (d *DB) Init(ctx context.Context) error {
	err := d.Check(ctx)
	var wrong *SchemaError
	if err == nil || errors.As(err, &wrong) && (wrong.Have != 0 || wrong.cause != nil) {
		return err
	}
	if err := d.again(ctx, maxAttempts, func() error { return d.create(ctx) }); err != nil {
		return d.failed("create the tables", err)
	}
	return d.Check(ctx)
}

func (d *DB) create(ctx context.Context) error {
	tx, err := d.sql.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if d.say.guard != "" {
		if _, err := tx.ExecContext(ctx, d.say.guard); err != nil {
			return err
		}
	}
	for _, statement := range d.say.schema {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, d.say.stamp, schemaVersion); err != nil {
		return err
	}
	return tx.Commit()
}
