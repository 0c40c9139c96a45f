package otelredlock

import (
	"context"
	"errors"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/scheduler"
)

const runOutcome = attribute.Key("redlock.run.outcome")

// outcome says how a run has ended.
type outcome int

const (
	ok outcome = iota
	failed
	panicked
	timeout
	lostLease
	skipped
	canceled

	outcomes
)

func (o outcome) String() string {
	return [...]string{"ok", "error", "panic", "timeout", "lost_lease", "skipped", "canceled"}[o]
}

// outcomeOf returns the outcome of a whole run. A record has only the text of the error, which includes the cause of
// the context.
func outcomeOf(r scheduler.Record, isPanic bool) outcome {
	switch {
	case r.State == scheduler.StateOK:
		return ok
	case r.State == scheduler.StateLost:
		return lostLease
	case r.State == scheduler.StateSkipped:
		return skipped
	case r.State == scheduler.StateCanceled:
		return canceled
	case isPanic:
		return panicked
	case strings.Contains(r.Err, context.DeadlineExceeded.Error()), strings.Contains(r.Err, "the job's timeout of "):
		return timeout
	default:
		return failed
	}
}

// outcomeIn returns the outcome of one attempt in ctx, by the same rules.
func outcomeIn(ctx context.Context, err error, isPanic bool) outcome {
	cause := context.Cause(ctx)
	switch {
	case err == nil:
		return ok
	case errors.Is(cause, election.ErrLost):
		return lostLease
	case errors.Is(cause, scheduler.ErrCanceled):
		return canceled
	case isPanic:
		return panicked
	case errors.Is(cause, context.DeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return timeout
	default:
		return failed
	}
}
