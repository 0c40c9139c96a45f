package fenced

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Claim shows the token of each holder to its resource. When it returns nil, no transaction of an earlier holder is
// under way there, and none can start any more. So what the holder reads now stays as it is until it or a later holder
// changes it. Claim waits for transactions that are under way. [Tx] does this for its own resource; use Claim if you
// read first.
//
// Claim ignores keys. The error is [ErrFenced] if a resource has seen a larger token.
func Claim(ctx context.Context, db *DB, holders ...Holder) error {
	for _, h := range holders {
		if err := acceptable(ctx, db, h); err != nil {
			return err
		}
		if err := db.ready(ctx); err != nil {
			return err
		}
		err := db.again(ctx, maxAttempts, func() error {
			_, _, err := db.show(ctx, h)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fence is a row of the table of fences.
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

// record is a row of the table of keys.
type record struct {
	token                    uint64
	attempt, digest, replica string
	doneAt                   int64
}

func (d *DB) recorded(ctx context.Context, h Holder) (record, bool, error) {
	k, err := scan(d.sql.QueryRowContext(ctx, d.say.key, h.Resource, h.tick(), h.Key))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return k, false, nil
	case err != nil:
		return k, false, d.failed(fmt.Sprintf("look for key %q", h.Key), err)
	}
	return k, true, nil
}

func scan(row *sql.Row) (k record, err error) {
	err = row.Scan(&k.token, &k.attempt, &k.digest, &k.replica, &k.doneAt)
	return k, err
}

// open raises the fence if that is what a holder needs to be admitted. Otherwise it returns why it is not admitted, or
// nil if the reason has gone meanwhile. A reason that it returns holds for good, so no lock is needed.
func (d *DB) open(ctx context.Context, h Holder) error {
	f, raised, err := d.show(ctx, h)
	if err != nil || raised || h.Key == "" {
		return err
	}
	k, found, err := d.recorded(ctx, h)
	at := time.UnixMicro(k.doneAt)
	switch {
	case err != nil:
		return err
	case found && k.digest != h.Digest:
		return &ReusedError{Resource: h.Resource, Key: h.Key, Digest: h.Digest, Recorded: k.digest, Replica: k.replica, At: at}
	case found:
		return &DoneError{Resource: h.Resource, Key: h.Key, Token: k.token, Replica: k.replica, At: at}
	case h.tick() <= f.cleaned:
		return &CleanedError{Resource: h.Resource, Key: h.Key, Tick: h.Tick, Cleaned: time.UnixMicro(f.cleaned)}
	}
	return nil
}

// show makes sure that the fence has the holder's token, and returns [ErrFenced] if it has a larger one. It reads the
// fence before it raises it. If the fence has the token already, no earlier holder's transaction is left, and a raise
// would only wait for transactions of the same holder.
func (d *DB) show(ctx context.Context, h Holder) (f fence, raised bool, err error) {
	f, found, err := d.fence(ctx, h.Resource)
	if err != nil {
		return f, false, err
	}
	if !found || f.token < h.Token {
		raised = true
		if err := d.raise(ctx, h); err != nil {
			return f, false, err
		}
		if f, _, err = d.fence(ctx, h.Resource); err != nil {
			return f, false, err
		}
	}
	if f.token > h.Token {
		return f, false, &FencedError{
			Resource: h.Resource, Token: h.Token, Fence: f.token, Replica: f.replica, At: time.UnixMicro(f.raisedAt),
		}
	}
	return f, raised, nil
}

// raise raises the fence in its own transaction. In the transaction of a run, the lock on the fence would block
// parallel runs of the same leader.
func (d *DB) raise(ctx context.Context, h Holder) error {
	_, err := d.sql.ExecContext(ctx, d.say.raise, h.Resource, int64(h.Token), d.replica)
	if err != nil {
		err = d.failed("raise the fence of "+h.String(), err)
	}
	return err
}
