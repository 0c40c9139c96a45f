package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/retry"
)

const (
	defaultWait = time.Second
	enoughWait  = time.Hour // a pause above it is not doubled
)

// Run is the execution of a job for one tick.
type Run struct {
	Job   string
	Tick  time.Time // the planned instant, in UTC
	Token uint64    // the fencing number of the term
}

// Key names the tick: the job's name, @ and the Unix time in milliseconds, as in
// "job@1700000000000". It is the same on every replica and in every attempt, and so an idempotency
// key.
func (r Run) Key() string { return r.Job + "@" + strconv.FormatInt(r.Tick.UnixMilli(), 10) }

// do is one run, from its first attempt to its end.
func (l *loop) do(ctx context.Context, r *active) {
	if r.job.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.job.Timeout)
		defer cancel()
	}
	err := errGoexit
	defer func() { // also when the job's Run ends this goroutine
		l.logEnd(ctx, r, err)
		r.cancel(nil)
		l.leave(r)
	}()
	err = l.attempts(ctx, r)
}

// attempts calls the job's Run until it succeeds, or may not be tried again.
func (l *loop) attempts(ctx context.Context, r *active) error {
	wait := cmp.Or(r.job.Retry.Wait, defaultWait)
	for n := 0; ; n++ {
		err := attempt(ctx, r.job.Job, r.Run)
		if err == nil || n == r.job.Retry.Times || ctx.Err() != nil || l.draining.Err() != nil {
			return err
		}
		pause := retry.Backoff{Min: wait, Max: 2 * wait}.After(1)
		l.log.Warn("attempt failed, another follows",
			append(r.fields(err), zap.Duration("in", pause))...)
		if !l.pause(ctx, pause) {
			return err
		}
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

func attempt(ctx context.Context, j Job, r Run) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v, debug.Stack()}
		}
	}()
	return j.Run(ctx, r)
}

// logEnd logs the end of a run. An error after the end of its context comes with the cause of that.
func (l *loop) logEnd(ctx context.Context, r *active, err error) {
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	if err != nil {
		l.log.Error("run failed", r.fields(err)...)
		return
	}
	l.log.Debug("run done", r.fields(nil)...)
}

// fields describes the run so far for the log.
func (r *active) fields(err error) []zap.Field {
	fields := []zap.Field{
		zap.String("job", r.Job), zap.Time("tick", r.Tick),
		zap.Duration("took", time.Since(r.since)),
	}
	if err != nil {
		fields = append(fields, zap.NamedError("err", err))
	}
	if p, ok := errors.AsType[*panicError](err); ok {
		fields = append(fields, zap.ByteString("stack", p.stack))
	}
	return fields
}
