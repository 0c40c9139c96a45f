package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/retry"
)

// awaitBackoff spaces the looks at a run that was triggered.
var awaitBackoff = retry.Backoff{Min: 100 * time.Millisecond, Max: 2 * time.Second}

// TriggerAndWait is [Scheduler.Trigger] that waits until the run has ended, from any replica, and returns its record: its
// State is [StateOK], [StateFailed], [StateLost], or [StateMissed] or [StateSkipped] if it did not run. An error says that
// the trigger could not be stored, or that ctx is done; then the record is what is known by then, [StateRunning] or without a
// State, and the run is not stopped.
//
// A job that was added here and that no leader has stored yet is waited for. If somebody else triggers the job before the run
// starts, the one run is for both.
func (s *Scheduler) TriggerAndWait(ctx context.Context, job string) (Record, error) {
	set, err := s.change(ctx, "trigger", job, s.store.Trigger)
	for n := 1; errors.Is(err, ErrUnknownJob) && s.own(job) != nil; n++ {
		if problem := retry.Sleep(ctx, awaitBackoff.After(n)); problem != nil {
			return Record{}, fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
		set, err = s.change(ctx, "trigger", job, s.store.Trigger)
	}
	if err != nil {
		return Record{}, err
	}
	var known Record
	var failed error // why the nodes could not be asked the last time
	for n := 1; ; n++ {
		if err := retry.Sleep(ctx, awaitBackoff.After(n)); err != nil {
			return known, s.waitedFor(ctx, job, known, failed)
		}
		var all []Record
		if all, failed = s.History(ctx, job, maxHistory); failed != nil {
			continue // ctx ends it
		}
		if r, ok := manualSince(all, set.At()); ok {
			known = r
		}
		if known.State != "" && known.State != StateRunning && known.State != StateInterrupted {
			return known, nil
		}
	}
}

// manualSince returns the first run that was triggered at a time or after it: its newest record.
func manualSince(newestFirst []Record, at time.Time) (found Record, ok bool) {
	for _, r := range newestFirst {
		if r.Manual && !r.Tick.Before(at) && (!ok || r.Tick.Before(found.Tick)) {
			found, ok = r, true
		}
	}
	return found, ok
}

// waitedFor says what was known of a run when the wait for it ended.
func (s *Scheduler) waitedFor(ctx context.Context, job string, known Record, failed error) error {
	state := "no leader has started it"
	switch {
	case failed != nil:
		state = fmt.Sprintf("the nodes could not be asked: %v", failed)
	case known.State == StateRunning:
		state = fmt.Sprintf("it runs on %q", known.Replica)
	case known.State == StateInterrupted:
		state = "its leader has stopped, and the next one runs it again"
	}
	return fmt.Errorf("scheduler: the triggered run of %q has not ended: %s: %w", job, state, context.Cause(ctx))
}
