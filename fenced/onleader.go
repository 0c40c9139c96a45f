package fenced

import (
	"context"
	"errors"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/retry"
)

const maxClaims = 8 // of one term, while the database does not answer

var claimPauses = retry.Backoff{Min: 100 * time.Millisecond, Max: 2 * time.Second}

// OnLeader returns a callback for [election.Elector.OnLeader] that shows the token of the term to the resources, as
// [Claim] does, and then calls fn, which may be nil. If a later leader has shown its token, or the database does not
// answer for several attempts, the callback does not call fn, and the process resigns its leadership with the error as
// the cause.
//
// The callback panics if it is called with a context that belongs to no term.
func OnLeader(db *DB, fn func(ctx context.Context), resources ...string) func(ctx context.Context) {
	return func(ctx context.Context) {
		term, ok := election.TermFrom(ctx)
		if !ok {
			panic("fenced: the callback of OnLeader needs the context of a term")
		}
		if err := claimTerm(ctx, db, term, resources); err != nil {
			term.Resign(err)
			return
		}
		if fn != nil {
			fn(ctx)
		}
	}
}

// claimTerm tries again if the database may be down. It returns an error once ctx has ended.
func claimTerm(ctx context.Context, db *DB, term *election.Term, resources []string) error {
	var holders []Holder
	for _, resource := range resources {
		holders = append(holders, Term(resource, term))
	}
	for n := 1; ; n++ {
		err := Claim(ctx, db, holders...)
		if err == nil || n == maxClaims || isFinal(err) {
			return err
		}
		if ended := retry.Sleep(ctx, claimPauses.After(n)); ended != nil {
			return errors.Join(ended, err)
		}
	}
}

// isFinal reports whether another attempt would fail in the same way.
func isFinal(err error) bool {
	for _, final := range []error{ErrFenced, ErrNoTable, ErrSchema} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}
