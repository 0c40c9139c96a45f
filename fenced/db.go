package fenced

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
)

// DB is a database with the two tables of this package. Its methods are safe for concurrent use.
type DB struct {
	config
	sql     *sql.DB
	dialect Dialect
	say     statements
	checked atomic.Bool // the tables are there, in our version
}

// New returns a DB that uses db. The caller must still close db. New does not query the database. An error names every
// problem of the arguments.
func New(db *sql.DB, dialect Dialect, opts ...Option) (*DB, error) {
	c, err := newConfig(opts)
	if db == nil {
		err = errors.Join(errors.New("the database is nil"), err)
	}
	if dialect < PostgreSQL || dialect > SQLite {
		err = errors.Join(fmt.Errorf("unknown dialect %v", dialect), err)
	}
	if err != nil {
		return nil, fmt.Errorf("fenced: %w", err)
	}
	return &DB{config: c, sql: db, dialect: dialect, say: dialect.statements(c.tables)}, nil
}

// Check returns nil if the database answers and has the tables in the version that this package needs. The error is
// [ErrNoTable], [ErrSchema], or wraps the database's error.
func (d *DB) Check(ctx context.Context) error {
	var have int64
	err := d.sql.QueryRowContext(ctx, d.say.version).Scan(&have)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return &SchemaError{Table: d.tables.fences, Want: schemaVersion}
	case err != nil:
		return d.failed("look for the tables", err)
	case have != schemaVersion:
		return &SchemaError{Table: d.tables.fences, Have: have, Want: schemaVersion}
	}
	d.checked.Store(true)
	return nil
}

// ready checks the tables until it has found them once.
func (d *DB) ready(ctx context.Context) error {
	if d.checked.Load() {
		return nil
	}
	return d.Check(ctx)
}

// failed wraps an error of the database.
func (d *DB) failed(to string, err error) error {
	switch d.dialect.classify(err) {
	case noTable:
		return fmt.Errorf("%w: cannot %s, table %s or %s: %w", ErrNoTable, to, d.tables.fences, d.tables.keys, err)
	case noColumn:
		return &SchemaError{Table: d.tables.fences, Want: schemaVersion, cause: err}
	}
	return fmt.Errorf("fenced: failed to %s: %w", to, err)
}
