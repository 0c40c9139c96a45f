package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/retry"
)

// awaitBackoff spaces the polls for the end of a triggered run.
var awaitBackoff = retry.Backoff{Min: 100 * time.Millisecond, Max: 2 * time.Second}

// TriggerAndWait calls [Scheduler.Trigger], waits until the run has ended, and returns its record. Any replica may call it. The
// record's State is [StateOK], [StateFailed] or [StateLost], or, if it did not run, [StateMissed] or [StateSkipped].
//
// An error says that the trigger could not be stored, or that ctx is done. If ctx is done, the run is not stopped, and the record
// has what was known: its State may be [StateRunning] or [StateInterrupted], or empty.
//
// If the job was added here but no leader has stored it yet, TriggerAndWait waits for that too. If somebody else triggers the job
// before the run starts, both get the same run.
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
	var failed error // of the last poll
	for n := 1; ; n++ {
		if err := retry.Sleep(ctx, awaitBackoff.After(n)); err != nil {
			return known, s.waitedFor(ctx, job, known, failed)
		}
		var all []Record
		if all, failed = s.History(ctx, job, maxHistory); failed != nil {
			continue // until ctx is done
		}
		now, _ := s.elector.Locker().Time() // known, since the trigger is stored
		if r, ok := manualBetween(all, set.At(), now.Add(jobstore.Ahead)); ok {
			known = r
		}
		if known.State != "" && known.State != StateRunning && known.State != StateInterrupted {
			return known, nil
		}
	}
}

// manualBetween returns the newest record of the first run that was triggered between two instants. Runs of the future were
// triggered before the nodes' clocks were set back.
func manualBetween(newestFirst []Record, at, now time.Time) (found Record, ok bool) {
	for _, r := range newestFirst {
		if r.Manual && !r.Tick.Before(at) && !r.Tick.After(now) && (!ok || r.Tick.Before(found.Tick)) {
			found, ok = r, true
		}
	}
	return found, ok
}

// waitedFor returns the error for a wait that ctx ended. It says what is known of the run.
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
