package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/fx"
)

// database replaces a real one. It keeps its rows in memory, and like a real one it fails calls after it was closed.
type database struct {
	mu     sync.Mutex // guards the fields below
	rows   []string
	fence  uint64 // the largest token seen
	closed bool
}

var (
	errClosed = errors.New("the database is closed")
	errFenced = errors.New("a leader with a larger token has written since")
)

func openDatabase(lc fx.Lifecycle) *database {
	db := new(database)
	lc.Append(fx.StopHook(db.close))
	return db
}

// insert takes half a second. It refuses a token, other than 0, that is smaller than an earlier one.
func (db *database) insert(ctx context.Context, row string, token uint64) error {
	select {
	case <-time.After(500 * time.Millisecond):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	switch {
	case db.closed:
		return errClosed
	case token != 0 && token < db.fence:
		return errFenced
	}
	db.fence = max(db.fence, token)
	db.rows = append(db.rows, row)
	return nil
}

func (db *database) all() []string {
	db.mu.Lock()
	defer db.mu.Unlock()
	return slices.Clone(db.rows)
}

func (db *database) close() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.closed = true
}
