package otelredlock

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	runTick    = attribute.Key("redlock.run.tick")
	runTerm    = attribute.Key("redlock.run.term")
	runAttempt = attribute.Key("redlock.run.attempt")
)

var errGoexit = errors.New("the run called runtime.Goexit")

// TickContext returns the context that the spans of all attempts at a tick link to, on all replicas. It is computed
// from [scheduler.Run.Key]. No span has this context. Work that a run has passed on may link to it, too.
func TickContext(run scheduler.Run) trace.SpanContext {
	sum := sha256.Sum256([]byte(run.Key()))
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID(sum[:16]), SpanID: trace.SpanID(sum[16:24]), Remote: true,
	})
}

// Middleware is for [scheduler.WithMiddleware]. It makes a span for each attempt at a run, in the context that next
// gets. A panic passes through unchanged.
func (i *Instruments) Middleware(
	next func(context.Context, scheduler.Run) error,
) func(context.Context, scheduler.Run) error {
	return func(ctx context.Context, run scheduler.Run) (err error) {
		options := i.spanOf(run.Job)
		if trace.SpanContextFromContext(ctx).IsValid() { // the caller of the elector's Run had a span, which must not be the parent
			options = append(options, trace.WithNewRoot())
		}
		ctx, span := i.tracer.Start(ctx, "redlock.job", options...)
		returned := false
		defer func() {
			value := recover()
			switch {
			case value != nil:
				err = fmt.Errorf("panic: %v", value)
			case !returned:
				err = errGoexit
			}
			end(ctx, span, run, err, value != nil)
			if value != nil {
				panic(value)
			}
		}()
		err = next(ctx, run)
		returned = true
		return err
	}
}

// spanOf returns the start options of a job's spans, made once. Samplers see only the name, which is the same for all
// runs.
func (i *Instruments) spanOf(job string) []trace.SpanStartOption {
	if known, ok := i.spans.Load(job); ok {
		return known.([]trace.SpanStartOption)
	}
	known, _ := i.spans.LoadOrStore(job, []trace.SpanStartOption{trace.WithAttributes(jobName.String(job))})
	return known.([]trace.SpanStartOption)
}

// end sets all other attributes in one call, because each call costs allocations.
func end(ctx context.Context, span trace.Span, run scheduler.Run, err error, isPanic bool) {
	defer span.End()
	if !span.IsRecording() {
		return
	}
	span.AddLink(trace.Link{SpanContext: TickContext(run)})
	span.SetAttributes(
		runTick.String(run.Tick.Format(time.RFC3339Nano)),
		runTerm.Int64(int64(run.Token)), // below 2^53
		runAttempt.Int(run.Attempt),
		runOutcome.String(outcomeIn(ctx, err, isPanic).String()),
	)
	if err != nil {
		span.RecordError(err, trace.WithStackTrace(isPanic))
		span.SetStatus(codes.Error, err.Error())
	}
}
