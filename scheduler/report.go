package scheduler

import (
	"errors"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/jobmachine"
	"github.com/redlockfx/redlockfx/internal/jobstore"
)

var errUnstored = errors.New("too few nodes stored it before the term ended")

// report reports a stored record to the log and the hooks. Runs of this process were logged when they returned.
func (l *loop) report(job string, r jobstore.Record) {
	switch r.State {
	case jobstore.StateMissed:
		from, n := r.From, max(r.Ticks, 1)
		if r.Ticks < 2 {
			from = r.Slot.At
		}
		l.log.Warn("ticks missed", zap.String("job", job), zap.Int("ticks", n), zap.Time("from", from),
			zap.Time("to", r.Slot.At), zap.String("reason", r.Err))
		l.s.hooks.missed(job, n, r.Err)
		return
	case jobstore.StateSkipped:
		l.log.Info("tick skipped", zap.String("job", job), zap.Time("tick", r.Slot.At), zap.Int("ticks", max(r.Ticks, 1)),
			zap.String("reason", r.Err))
	case jobstore.StateFailed:
		if r.Err == jobmachine.ReasonReplaced || r.Err == jobmachine.ReasonRemoved { // it waited for its next attempt
			l.log.Error("run failed", zap.String("job", job), zap.Time("tick", r.Slot.At), zap.String("error", r.Err))
		}
	case jobstore.StateLost:
		switch {
		case r.Err == jobmachine.ReasonGone:
			l.log.Error("run lost: its leader was gone before its end was recorded", zap.String("job", job),
				zap.Time("tick", r.Slot.At), zap.String("replica", r.Replica))
		case strings.HasPrefix(r.Err, jobmachine.ReasonDeadly):
			l.log.Error("run lost: processes were gone again and again before its end was recorded, and it is not run again",
				zap.String("job", job), zap.Time("tick", r.Slot.At), zap.String("replica", r.Replica), zap.Int("attempt", r.Attempt))
		}
	case jobstore.StateInterrupted:
		if r.Err == jobmachine.ReasonGone {
			l.log.Error("its leader was gone before the end of a run was recorded: the run is repeated", zap.String("job", job),
				zap.Time("tick", r.Slot.At), zap.String("replica", r.Replica), zap.Int("attempt", r.Attempt))
		}
	}
	l.s.hooks.finished(recordOf(job, r))
}

// reportUnstored reports runs that have returned but whose ends could not be stored. If this process leads next, it stores them then.
func (l *loop) reportUnstored(e *entry) {
	l.s.mu.Lock()
	l.s.unstored[e.job.Name] = e.machine.Ended()
	l.s.mu.Unlock()
	open := e.machine.State().Open
	for _, r := range e.machine.Ended() {
		for _, o := range open {
			if o.ID != r.ID {
				continue
			}
			record := o.Record(r.State, r.Err, r.End)
			record.Attempt = max(r.Attempt, o.Attempt)
			l.log.Error("failed to record the end of a run; another leader treats it as still running", zap.String("job", e.job.Name),
				zap.Time("tick", o.Slot.At), zap.Error(errUnstored))
			l.s.hooks.finished(recordOf(e.job.Name, record))
		}
	}
}

// logRun logs the end of a run of this process. If the run's context had ended, err includes the cause.
func (r *runner) logRun(a *active, state string, err error) {
	switch {
	case state == jobstore.StateMissed: // report logs it once it is stored
	case state == jobstore.StateInterrupted:
		r.log.Warn("run interrupted, the next leader runs it again", a.fields(err)...)
	case state == jobstore.StateCanceled:
		r.log.Warn("run canceled", a.fields(err)...)
	case state == jobstore.StateOK && err != nil:
		r.log.Warn("run done, but after its timeout", a.fields(nil)...)
	case err != nil:
		r.log.Error("run failed", a.fields(err)...)
	default:
		if r.log.Core().Enabled(zap.DebugLevel) { // saves the fields: there may be many runs, and few logs show this
			r.log.Debug("run done", a.fields(nil)...)
		}
	}
}

// fields describes the run so far for the log.
func (a *active) fields(err error) []zap.Field { return a.fieldsSince(a.since, err) }

// fieldsSince describes what the run has done since an instant.
func (a *active) fieldsSince(since time.Time, err error) []zap.Field {
	fields := []zap.Field{
		zap.String("job", a.Job), zap.Time("tick", a.Tick), zap.Duration("took", time.Since(since)),
	}
	if err != nil {
		fields = append(fields, zap.Error(err))
	}
	if p, ok := errors.AsType[*panicError](err); ok {
		fields = append(fields, zap.ByteString("stack", p.stack))
	}
	return fields
}
