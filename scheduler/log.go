package scheduler

import (
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/internal/register"
)

// fields describes the run so far for the log.
func (r *active) fields(err error) []zap.Field {
	fields := []zap.Field{
		zap.String("job", r.Job), zap.Time("tick", r.Tick),
		zap.Duration("took", time.Since(r.since)),
	}
	if err != nil {
		fields = append(fields, zap.Error(err))
	}
	if p, ok := errors.AsType[*panicError](err); ok {
		fields = append(fields, zap.ByteString("stack", p.stack))
	}
	return fields
}

// logEnd logs the end of a run. An error after the end of its context comes with the cause of that.
func (l *loop) logEnd(r *active, state string, err error) {
	switch {
	case state == register.Skipped || state == register.Missed:
		l.log.Info("tick not run", zap.String("job", r.Job), zap.Time("tick", r.Tick), zap.String("reason", err.Error()))
	case err != nil:
		l.log.Error("run failed", r.fields(err)...)
	default:
		l.log.Debug("run done", r.fields(nil)...)
	}
}

// logUnclaimed logs that a tick could not be claimed, once in a row.
func (l *loop) logUnclaimed(c claim, err error) {
	if c.entry.failures == 1 {
		l.log.Warn("too few nodes voted for a tick, asking again", zap.String("job", c.entry.job.Name),
			zap.Time("tick", c.slot.At), zap.Error(err))
	}
}

// logChange logs that another build has had another timetable for the job.
func (l *loop) logChange(j *job, before string) {
	l.log.Info("the job's spec or zone has changed: its ticks begin now", zap.String("job", j.Name),
		zap.String("before", before), zap.String("now", j.plan.Text))
}
