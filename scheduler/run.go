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
	"github.com/redlockfx/redlockfx/internal/register"
	"github.com/redlockfx/redlockfx/internal/retry"
)

const (
	defaultWait = time.Second
	enoughWait  = time.Hour // a pause above it is not doubled
)

// do is one run, from its first attempt to the record of its end.
func (l *loop) do(ctx context.Context, r *active) {
	state, err := register.Failed, errGoexit
	defer func() { // also when the job's Run ends this goroutine
		r.cancel(nil)
		l.leave(r)
		l.ended(r, state, err)
	}()
	_ = retry.Sleep(ctx, r.wait) // what follows sees that ctx is done
	if r.first {
		release, overlaps := l.alone(ctx, r)
		if overlaps != nil {
			state, err = register.Skipped, overlaps
			if l.term.Context().Err() != nil { // it had still to wait, and is the next leader's
				state = register.Lost
			}
			l.mu.Lock()
			r.lane.foreign = true // the next one has to look again
			l.mu.Unlock()
			return
		}
		defer release()
	} else if r.job.Overlap != Allow {
		defer l.hold(ctx, r)()
	}
	if r.job.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.job.Timeout)
		defer cancel()
	}
	if !l.term.Valid() { // a pause since the claim
		state, err = register.Lost, errors.New("not started: the term was over")
		return
	}
	if r.job.removed.Load() { // since the claim
		state, err = register.Missed, errRemoved
		return
	}
	l.s.hooks.started(r.Run)
	err = l.attempts(ctx, r)
	cause := context.Cause(ctx)
	switch {
	case err == nil:
		state = register.OK
	case errors.Is(cause, election.ErrLost):
		state = register.Lost
	}
	if err != nil && cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
}

// ended writes down and tells how a run has ended. Where the next leader is to run the tick again, nothing is
// written: what has no end is taken over.
func (l *loop) ended(r *active, state string, err error) {
	l.logEnd(r, state, err)
	record := register.Record{
		Slot: register.Slot{At: r.Tick, Manual: r.Manual}, Run: r.id, Attempt: r.claimed, Token: r.Token, State: state,
		Details: register.Details{
			By: l.s.elector.Identity(), Start: r.start, End: r.start.Add(time.Since(r.since)), CaughtUp: r.CaughtUp,
			Jumped: r.jumped, From: r.from, Attempts: r.Attempt,
		},
	}
	if err != nil {
		record.Err = err.Error()
	}
	if state != register.Lost || !r.job.AtLeastOnce {
		if err := l.finishRun(r.Job, record); err != nil {
			l.log.Error("the end of a run could not be written: the next leader will take it for lost", r.fields(err)...)
		}
	}
	if state == register.Missed {
		l.s.hooks.missed(r.Job, 1, record.Err)
		return
	}
	l.s.hooks.finished(recordOf(r.Job, record))
}

// attempts calls the job's Run until it succeeds, or may not be tried again.
func (l *loop) attempts(ctx context.Context, r *active) error {
	defer doing.Start(l.draining, fmt.Sprintf("job %q", r.Job))()
	wait := cmp.Or(r.job.Retry.Wait, defaultWait)
	for n := 0; ; n++ {
		err := attempt(ctx, r.job.call, r.Run)
		l.s.hooks.panicked(r.Run, err)
		if err == nil || n == r.job.Retry.Times || ctx.Err() != nil || l.draining.Err() != nil {
			return err
		}
		pause := retry.Backoff{Min: wait, Max: 2 * wait}.After(1)
		l.log.Warn("attempt failed, another follows",
			append(r.fields(err), zap.Duration("in", pause))...)
		l.s.hooks.retrying(r.Run, err)
		if !l.pause(ctx, pause) {
			return err
		}
		r.Attempt++
		if wait <= enoughWait {
			wait *= 2
		}
	}
}

// pause waits for d. false: no attempt may follow.
func (l *loop) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-l.draining.Done():
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
