package scheduler

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/doing"
	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
	"github.com/redlockfx/redlockfx/internal/retry"
)

// do runs one attempt of a run, and reports its end.
func (r *runner) do(ctx context.Context, a *active) {
	end := jobmachine.Returned{ID: a.id, State: jobstore.StateFailed, Attempt: a.Attempt}
	err := errGoexit
	release := func() {}
	defer func() { // even if the job's Run calls Goexit
		a.cancel(nil)
		if end.CutOff && a.job.AtLeastOnce {
			end.State = jobstore.StateInterrupted
		}
		if end.Pause == 0 {
			a.tell(func() { r.logRun(a, end.State, err) })
		}
		end.End = a.opened.Add(time.Since(a.since))
		if err != nil {
			end.Err = err.Error()
		}
		r.leave(a) // before the report: the loop counts the runs when it gets the end
		r.returned(a.Job, end)
		release() // nobody waits for it
	}()
	_ = retry.Sleep(ctx, a.wait) // the code below checks ctx
	if a.job.Overlap != Allow {
		release = r.hold(a)
	}
	if a.job.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, a.job.Timeout-a.took, timeoutError(a.job.Timeout))
		defer cancel()
		defer r.watch(ctx, a)()
	}
	if !r.term.Valid() { // the process was paused after the start was stored
		end.State, end.CutOff, err = jobstore.StateLost, true, errors.New("not started: the term was over")
		return
	}
	if a.job.removed.Load() { // after the start was stored
		end.State, err = jobstore.StateMissed, errRemoved
		if a.took > 0 {
			end.State = jobstore.StateFailed
		}
		return
	}
	if a.took == 0 {
		a.tell(func() { r.hooks.started(a.Run) })
	}
	err = r.attempt(ctx, a)
	if end.Pause, err = a.retries(ctx, err); end.Pause == 0 {
		end.State, end.CutOff, err = outcome(err, context.Cause(ctx))
		return
	}
	a.tell(func() {
		r.log.Warn("attempt failed, another follows", append(a.fields(err), zap.Int("attempt", a.Attempt), zap.Duration("in", end.Pause))...)
		r.hooks.retrying(a.Run, err)
	})
}

// outcome returns how a run has ended, from its error and the cause of its context. cutOff means that its leader stopped or lost
// its lease before the run succeeded. A run that succeeded has a reason if it was late.
func outcome(err, cause error) (state string, cutOff bool, reason error) {
	if err == nil {
		if late, ok := errors.AsType[timeoutError](cause); ok {
			return jobstore.StateOK, false, fmt.Errorf("late: %w", late)
		}
		return jobstore.StateOK, false, nil
	}
	state = jobstore.StateFailed
	switch {
	case errors.Is(cause, ErrCanceled):
		state = jobstore.StateCanceled
	case errors.Is(cause, election.ErrLost):
		state, cutOff = jobstore.StateLost, true
	case errors.Is(cause, election.ErrStopped), errors.Is(cause, election.ErrResigned):
		cutOff = true
	}
	if cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return state, cutOff, err
}

// retries returns how long the run waits until its next attempt, after an attempt that failed with err, or 0 if it has none: no
// attempt is left, the error is [Permanent], its context has ended, or would end before. The error says so in the last case.
func (a *active) retries(ctx context.Context, err error) (time.Duration, error) {
	if _, ok := errors.AsType[permanentError](err); ok || err == nil || a.tries < 2 || ctx.Err() != nil {
		return 0, err
	}
	wait := a.job.machine.Pause(a.job.Retry.Times + 2 - a.tries)
	pause := retry.Backoff{Min: wait, Max: 2 * wait}.After(1)
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= pause {
		return 0, fmt.Errorf("the job's timeout of %v would pass before another attempt: %w", a.job.Timeout, err)
	}
	return pause, err
}

// attempt calls the job's Run.
func (r *runner) attempt(ctx context.Context, a *active) (err error) {
	defer doing.Start(r.stopping, a.job.label)()
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{"the run", v, debug.Stack()}
			a.tell(func() { r.hooks.panicked(a.Run, err) })
		}
	}()
	return a.job.call(ctx, a.Run)
}
