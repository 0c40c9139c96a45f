package fenced

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/retry"
)

// Claim shows the token of each holder to its resource. When it returns nil, no transaction of an earlier holder is under way
// there, and none can come any more: what the holder reads now stays as it is until itself, or a later holder, changes it. It
// waits for transactions that are under way. [Tx] does this for its own resource; Claim is for those who read first.
//
// Keys do not matter. The error is [ErrFenced] if a resource has seen a larger token.
func Claim(ctx context.Context, db *DB, holders ...Holder) error {
	for _, h := range holders {
		if err := acceptable(ctx, db, h); err != nil {
			return err
		}
		if err := db.ready(ctx); err != nil {
			return err
		}
		if err := db.raise(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

// fence is a row of the fences.
type fence struct {
	token             uint64
	replica           string
	raisedAt, cleaned int64
}

func (d *DB) fence(ctx context.Context, resource string) (f fence, found bool, err error) {
	err = d.sql.QueryRowContext(ctx, d.say.fence, resource).Scan(&f.token, &f.replica, &f.raisedAt, &f.cleaned)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return f, false, nil
	case err != nil:
		return f, false, d.failed(fmt.Sprintf("read the fence of %q", resource), err)
	}
	return f, true, nil
}

// record is a row of the keys.
type record struct {
	token            uint64
	attempt, replica string
	doneAt           int64
}

func (d *DB) recorded(ctx context.Context, h Holder) (k record, found bool, err error) {
	err = d.sql.QueryRowContext(ctx, d.say.key, h.Resource, h.tick(), h.Key).Scan(&k.token, &k.attempt, &k.replica, &k.doneAt)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return k, false, nil
	case err != nil:
		return k, false, d.failed(fmt.Sprintf("look for key %q", h.Key), err)
	}
	return k, true, nil
}

// open raises the fence if that is what a holder needs to be admitted. Otherwise it returns why it is not admitted, or nil if
// the reason has gone meanwhile. Each reason, once it holds, holds for good, so no lock is needed.
func (d *DB) open(ctx context.Context, h Holder) error {
	f, found, err := d.fence(ctx, h.Resource)
	switch {
	case err != nil:
		return err
	case !found || f.token < h.Token:
		return d.raise(ctx, h)
	case f.token > h.Token:
		return fencedBy(h, f)
	case h.Key == "":
		return nil
	}
	k, found, err := d.recorded(ctx, h)
	switch {
	case err != nil:
		return err
	case found:
		return &DoneError{Resource: h.Resource, Key: h.Key, Token: k.token, Replica: k.replica, At: time.UnixMicro(k.doneAt)}
	case h.tick() <= f.cleaned:
		return &CleanedError{Resource: h.Resource, Key: h.Key, Tick: h.Tick, Cleaned: time.UnixMicro(f.cleaned)}
	}
	return nil
}

// raise raises the fence in a transaction of its own: in that of a run, the lock on the fence would keep parallel runs of the
// same leader out.
func (d *DB) raise(ctx context.Context, h Holder) error {
	for n := 1; ; n++ {
		_, err := d.sql.ExecContext(ctx, d.say.raise, h.Resource, int64(h.Token), d.replica)
		if err == nil {
			break
		}
		err = d.failed("raise the fence of "+h.String(), err)
		if d.dialect.classify(err) != transient || n == maxAttempts {
			return err
		}
		if ended := retry.Sleep(ctx, pauses.After(n)); ended != nil {
			return fmt.Errorf("%w: %w", ended, err)
		}
	}
	f, _, err := d.fence(ctx, h.Resource)
	if err == nil && f.token > h.Token {
		err = fencedBy(h, f)
	}
	return err
}

func fencedBy(h Holder, f fence) error {
	return &FencedError{
		Resource: h.Resource, Token: h.Token, Fence: f.token, Replica: f.replica, At: time.UnixMicro(f.raisedAt),
	}
}
