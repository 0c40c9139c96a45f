package scheduler

import (
	"cmp"
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

const (
	defaultWait = time.Second
	enoughWait  = time.Hour // a pause above this is not doubled again
)

// do runs one run, from its first attempt to the report of its end.
func (r *runner) do(ctx context.Context, a *active) {
	end := jobmachine.Returned{ID: a.id, State: jobstore.StateFailed, Attempt: a.Attempt}
	err := errGoexit
	release := func() {}
	defer func() { // even if the job's Run calls Goexit
		a.cancel(nil)
		if end.CutOff && a.job.AtLeastOnce {
			end.State = jobstore.StateInterrupted
		}
		a.tell(func() { r.logRun(a, end.State, err) })
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
		ctx, cancel = context.WithTimeoutCause(ctx, a.job.Timeout, timeoutError(a.job.Timeout))
		defer cancel()
		defer r.watch(ctx, a)()
	}
	if !r.term.Valid() { // the process was paused after the start was stored
		end.State, end.CutOff, err = jobstore.StateLost, true, errors.New("not started: the term was over")
		return
	}
	if a.job.removed.Load() { // after the start was stored
		end.State, err = jobstore.StateMissed, errRemoved
		return
	}
	a.tell(func() { r.hooks.started(a.Run) })
	err = r.attempts(ctx, a, &end.Attempt)
	end.State, end.CutOff, err = outcome(err, context.Cause(ctx))
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

// attempts calls the job's Run until it succeeds, or no retry is left or allowed. Before each call it stores the attempt's
// number in last, so that the caller has it even if Run calls Goexit.
func (r *runner) attempts(ctx context.Context, a *active, last *int) error {
	defer doing.Start(r.stopping, a.job.label)()
	wait := cmp.Or(a.job.Retry.Wait, defaultWait)
	for n := 0; ; n++ {
		run := a.Run
		run.Attempt += n
		*last = run.Attempt
		began := time.Now()
		err := attempt(ctx, a.job.call, run)
		a.tell(func() { r.hooks.panicked(run, err) })
		if err == nil || n == a.job.Retry.Times || ctx.Err() != nil || r.stopping.Err() != nil {
			return err
		}
		pause := retry.Backoff{Min: wait, Max: 2 * wait}.After(1)
		a.tell(func() {
			r.log.Warn("attempt failed, another follows", append(a.fieldsSince(began, err), zap.Int("attempt", run.Attempt),
				zap.Duration("in", pause))...)
			r.hooks.retrying(run, err)
		})
		if !r.pause(ctx, pause) {
			return err
		}
		if wait <= enoughWait {
			wait *= 2
		}
	}
}

// pause waits for d. It returns false if no attempt may follow, because the run's context has ended or the leader stops.
func (r *runner) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-r.stopping.Done():
	}
	return false
}

func attempt(ctx context.Context, call func(context.Context, Run) error, r Run) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v, debug.Stack()}
		}
	}()
	return call(ctx, r)
}
