package otelredlock

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	jobName      = attribute.Key("redlock.job.name")
	missedReason = attribute.Key("redlock.missed.reason")
)

// job has the options of a job's measurements. Making them for each run would cost more than the measurement.
type job struct {
	add    [outcomes][]metric.AddOption
	record [outcomes][]metric.RecordOption
	lag    []metric.RecordOption

	lastGood   atomic.Int64 // Unix time in ns of the end of this process's last good run, 0 if there was none
	attributes metric.MeasurementOption
}

// JobHooks returns hooks for [scheduler.WithHooks].
func (i *Instruments) JobHooks() scheduler.Hooks {
	return scheduler.Hooks{
		Finished: i.finished,
		Panicked: func(run scheduler.Run, _ any, _ []byte) { i.panics.note(run) },
		Unclaimed: func(name string, _ time.Time, _ error) {
			i.unclaimed.Add(context.Background(), 1, metric.WithAttributes(jobName.String(name)))
		},
		Missed: func(name string, ticks int, reason string) {
			i.job(name) // so that its good runs are exported from 0
			i.missed.Add(context.Background(), int64(ticks),
				metric.WithAttributes(jobName.String(name), missedReason.String(kindOf(reason))))
		},
	}
}

func (i *Instruments) finished(r scheduler.Record) {
	outcome := outcomeOf(r, i.panics.take(r.Run))
	j := i.job(r.Job)
	i.runs.Add(context.Background(), 1, j.add[outcome]...)
	if outcome == ok {
		j.lastGood.Store(r.End.UnixNano())
	}
	if outcome == lostLease || outcome == skipped {
		return // its end is unknown, or it did not run
	}
	i.durations.Record(context.Background(), r.End.Sub(r.Start).Seconds(), j.record[outcome]...)
	i.lags.Record(context.Background(), max(r.Start.Sub(r.Tick).Seconds(), 0), j.lag...)
}

// job returns the state of a job, and makes it at the first call.
func (i *Instruments) job(name string) *job {
	if known, ok := i.jobs.Load(name); ok {
		return known.(*job)
	}
	attributes := metric.WithAttributeSet(attribute.NewSet(jobName.String(name)))
	j := &job{lag: []metric.RecordOption{attributes}, attributes: attributes}
	for o := range outcomes {
		attributes := metric.WithAttributeSet(attribute.NewSet(jobName.String(name), runOutcome.String(o.String())))
		j.add[o], j.record[o] = []metric.AddOption{attributes}, []metric.RecordOption{attributes}
	}
	known, had := i.jobs.LoadOrStore(name, j)
	if !had {
		i.runs.Add(context.Background(), 0, j.add[ok]...)
	}
	return known.(*job)
}

// observe exports a time and not the duration since then, so that the last exported value stays true when the process
// is gone.
func (j *job) observe(o metric.Observer, i *Instruments) {
	o.ObserveFloat64(i.lastGood, time.Duration(j.lastGood.Load()).Seconds(), j.attributes)
}

// panics records which attempt of a running run has panicked last, because the record of a run does not say so.
type panics struct {
	mu   sync.Mutex // guards runs
	runs map[scheduler.Run]int
}

func (p *panics) note(run scheduler.Run) {
	attempt := run.Attempt
	run.Attempt = 0
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runs == nil {
		p.runs = make(map[scheduler.Run]int)
	}
	p.runs[run] = attempt
}

// take removes a run that has ended, and returns whether it ended with a panic.
func (p *panics) take(run scheduler.Run) bool {
	last := run.Attempt
	run.Attempt = 0
	p.mu.Lock()
	defer p.mu.Unlock()
	attempt, panicked := p.runs[run]
	delete(p.runs, run)
	return panicked && attempt == last
}

// kindOf returns a reason without the times in it, which would each make a series: "no leader" for "no leader from
// ... to ...".
func kindOf(reason string) string {
	for _, times := range []string{" from ", " until "} {
		reason, _, _ = strings.Cut(reason, times)
	}
	return reason
}
