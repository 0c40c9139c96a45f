package rivertick

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/redlockfx/redlockfx/fenced"
	"github.com/redlockfx/redlockfx/scheduler"
)

// metadataKey is the field of a River job's metadata with the key of its run.
const metadataKey = "redlockfx_key"

// Job returns a function for [scheduler.Job] that inserts a job into River within [fenced.Job]. It always inserts
// into the database of db, whatever pool the client has. A run whose tick is already done inserts nothing, and
// succeeds.
//
// args makes the arguments of the job; if it fails, the run fails with its error. It may be called again for the same
// tick. opts may be nil. If opts or the arguments have UniqueOpts, and River skips the job because of another one,
// the tick counts as done.
//
// The error lists all problems of the arguments.
func Job(
	db *fenced.DB, client *river.Client[*sql.Tx],
	args func(ctx context.Context, run scheduler.Run) (river.JobArgs, error), opts *river.InsertOpts,
) (func(ctx context.Context, run scheduler.Run) error, error) {
	var problems []error
	if db == nil {
		problems = append(problems, errors.New("the database is nil"))
	}
	if client == nil {
		problems = append(problems, errors.New("the client is nil"))
	}
	if args == nil {
		problems = append(problems, errors.New("the function that makes the arguments is nil"))
	}
	if _, err := withKey(opts, ""); err != nil {
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("rivertick: %w", err)
	}
	return fenced.Job(db, func(ctx context.Context, tx *sql.Tx, run scheduler.Run) error {
		job, err := args(ctx, run)
		if err != nil {
			return err
		}
		if job == nil {
			return fmt.Errorf("rivertick: the arguments for %s are nil", run.Key())
		}
		keyed, err := withKey(opts, run.Key())
		if err != nil {
			return err
		}
		if _, err := client.InsertTx(ctx, tx, job, keyed); err != nil {
			return fmt.Errorf("rivertick: failed to insert a job %q for %s: %w", job.Kind(), run.Key(), err)
		}
		return nil
	}), nil
}

// withKey returns a copy of the options with the key in the metadata.
func withKey(opts *river.InsertOpts, key string) (*river.InsertOpts, error) {
	var keyed river.InsertOpts
	if opts != nil {
		keyed = *opts
	}
	metadata := map[string]json.RawMessage{}
	if len(keyed.Metadata) > 0 {
		if err := json.Unmarshal(keyed.Metadata, &metadata); err != nil || metadata == nil {
			return nil, fmt.Errorf("the metadata %.40q is not a JSON object", keyed.Metadata)
		}
	}
	if _, taken := metadata[metadataKey]; taken {
		return nil, fmt.Errorf("the metadata already has a field %q", metadataKey)
	}
	var err error
	if metadata[metadataKey], err = json.Marshal(key); err != nil {
		return nil, err
	}
	keyed.Metadata, err = json.Marshal(metadata)
	return &keyed, err
}

// Key returns the key of the run that inserted a job, or false if something else inserted it.
func Key(job *rivertype.JobRow) (key string, ok bool) {
	var metadata map[string]json.RawMessage
	if json.Unmarshal(job.Metadata, &metadata) != nil || json.Unmarshal(metadata[metadataKey], &key) != nil {
		return "", false
	}
	return key, key != ""
}
