package otelredlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/redlockfx/redlockfx/otelredlock"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

// attributes returns the attributes of a span, as text by name.
func attributes(s tracetest.SpanStub) map[string]string {
	all := map[string]string{}
	for _, a := range s.Attributes {
		all[string(a.Key)] = a.Value.String()
	}
	return all
}

// exception returns the message and the stack of a span's error or panic.
func exception(s tracetest.SpanStub) (message, stack string) {
	for _, event := range s.Events {
		for _, a := range event.Attributes {
			switch a.Key {
			case "exception.message":
				message = a.Value.AsString()
			case "exception.stacktrace":
				stack = a.Value.AsString()
			}
		}
	}
	return message, stack
}

// The metrics count runs by their outcome, and each attempt has a span.
func TestRuns_AndTheirAttemptsTellHowTheyEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t, redlocktest.New(t, 3, redlock.WithTTL(ttl)))
		for name, job := range kinds {
			job.Name = name
			r.add(t, job)
		}
		r.run(t)
		time.Sleep(time.Minute + 5*time.Second)
		wantCounted(t, r)
		if stack := <-r.panics; !strings.Contains(stack, "jobs_test.go") {
			t.Errorf("the stack that the scheduler reports does not tell where a job panicked: %s", stack)
		}
		var got []string
		for _, span := range r.spans.GetSpans() {
			a := attributes(span)
			got = append(got, a["redlock.job.name"]+" "+a["redlock.run.attempt"]+" "+a["redlock.run.outcome"])
			if span.Name != "redlock.job" || span.SpanKind != trace.SpanKindInternal || span.Parent.IsValid() {
				t.Errorf("span %q of kind %v with parent %v", span.Name, span.SpanKind, span.Parent)
			}
			message, stack := exception(span)
			switch isOK := a["redlock.run.outcome"] == "ok"; {
			case isOK && (message != "" || span.Status.Code != codes.Unset):
				t.Errorf("%s has %q, status %v", got[len(got)-1], message, span.Status)
			case !isOK && (message == "" || span.Status.Code != codes.Error):
				t.Errorf("%s has no error, status %v", got[len(got)-1], span.Status)
			case a["redlock.run.outcome"] == "panic" && !strings.Contains(stack, "jobs_test.go"):
				t.Errorf("%s does not tell where: %s", got[len(got)-1], stack)
			}
		}
		want := "ok 1 ok, error 1 error, panic 1 panic, timeout 1 timeout, goexit 1 error, skipped 1 ok, " +
			"recovers 1 panic, recovers 2 ok, worsens 1 panic, worsens 2 error"
		for line := range strings.SplitSeq(want, ", ") {
			found := 0
			for _, g := range got {
				if g == line {
					found++
				}
			}
			if found != 1 {
				t.Errorf("%d spans %q, want one", found, line)
			}
		}
		if len(got) != 10 {
			t.Errorf("spans %q", got)
		}
	})
}

// Two leaders attempt one tick; the first attempt is lost with the lease. Both spans link to the same context.
func TestSpans_OfATickHaveTheSameLinkOnAllReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.New(t, 3, redlock.WithTTL(ttl))
		replicas := []*replica{newReplica(t, nodes), newReplica(t, nodes)}
		var ticks []trace.SpanContext
		for _, r := range replicas {
			r.add(t, scheduler.Job{
				Name: "job", Spec: "30 * * * * *", AtLeastOnce: true,
				Run: func(ctx context.Context, run scheduler.Run) error {
					ticks = append(ticks, otelredlock.TickContext(run))
					if !trace.SpanContextFromContext(ctx).IsValid() {
						t.Error("the run has no span")
					}
					if run.Attempt == 1 {
						r.Cut()
						<-ctx.Done()
						return context.Cause(ctx)
					}
					return nil
				},
			})
			r.run(t)
			time.Sleep(time.Second)
		}
		time.Sleep(30*time.Second + 2*ttl)
		first, second := replicas[0].spans.GetSpans(), replicas[1].spans.GetSpans()
		if len(first) != 1 || len(second) != 1 {
			t.Fatalf("%d and %d spans, want one each", len(first), len(second))
		}
		a, b := attributes(first[0]), attributes(second[0])
		if a["redlock.run.outcome"] != "lost_lease" || b["redlock.run.outcome"] != "ok" ||
			a["redlock.run.attempt"] != "1" || b["redlock.run.attempt"] != "2" ||
			a["redlock.run.tick"] != b["redlock.run.tick"] || a["redlock.run.term"] >= b["redlock.run.term"] {
			t.Errorf("attributes %v and %v", a, b)
		}
		if first[0].SpanContext.TraceID() == second[0].SpanContext.TraceID() {
			t.Error("both are in one trace")
		}
		for _, span := range []tracetest.SpanStub{first[0], second[0]} {
			if len(span.Links) != 1 || !span.Links[0].SpanContext.Equal(ticks[0]) {
				t.Errorf("links %v, want one to %v", span.Links, ticks[0])
			}
		}
	})
}

func TestTickContext_IsThatOfTheTickAlone(t *testing.T) {
	run := scheduler.Run{Job: "job", Tick: time.Unix(1700000000, 0), Token: 7, Attempt: 1}
	tick := otelredlock.TickContext(run)
	if !tick.IsValid() || !tick.IsRemote() {
		t.Errorf("%v is no context to link to", tick)
	}
	again, other := run, run
	again.Token, again.Attempt, again.Tick = 8, 2, run.Tick.UTC()
	other.Tick = run.Tick.Add(time.Second)
	if !otelredlock.TickContext(again).Equal(tick) {
		t.Error("another attempt has another context")
	}
	if otelredlock.TickContext(other).TraceID() == tick.TraceID() {
		t.Error("another tick has the same trace")
	}
}

// Errors and panics pass through the middleware unchanged.
func TestMiddleware_PassesErrorsAndPanicsOn(t *testing.T) {
	tel := newTelemetry(t)
	run := scheduler.Run{Job: "job"}
	err := tel.Middleware(func(context.Context, scheduler.Run) error { return errWork })(t.Context(), run)
	if !errors.Is(err, errWork) {
		t.Errorf("error %v", err)
	}
	value := func() (value any) {
		defer func() { value = recover() }()
		_ = tel.Middleware(func(context.Context, scheduler.Run) error { panic(errWork) })(t.Context(), run)
		return nil
	}()
	if err, _ := value.(error); !errors.Is(err, errWork) {
		t.Errorf("panic %v", value)
	}
}
