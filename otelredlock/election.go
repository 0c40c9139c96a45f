package otelredlock

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
)

const (
	electionName = attribute.Key("redlock.election.name")
	transition   = attribute.Key("redlock.transition")
)

// tenure is the state of this process in an election.
type tenure struct {
	term     atomic.Pointer[election.Term] // nil if this process does not lead
	validity atomic.Int64                  // ns left after the last renewal of the term

	attributes metric.MeasurementOption
	renewed    []metric.RecordOption // for renewals without an error
}

// ElectionHooks returns hooks for [election.WithHooks] of the election called name. From this call on the process
// exports whether it leads.
func (i *Instruments) ElectionHooks(name string) election.Hooks {
	attributes := metric.WithAttributeSet(attribute.NewSet(electionName.String(name)))
	made, _ := i.elections.LoadOrStore(name, &tenure{attributes: attributes, renewed: []metric.RecordOption{attributes}})
	t := made.(*tenure)
	changed := func(to string) {
		i.transitions.Add(context.Background(), 1,
			metric.WithAttributes(electionName.String(name), transition.String(to)))
	}
	return election.Hooks{
		Elected: func(term *election.Term) {
			t.left(term)
			t.term.Store(term)
			changed("elected")
		},
		Ended: func(term *election.Term, cause error) {
			t.term.CompareAndSwap(term, nil) // unless another candidate of this process leads already
			changed(ending(cause))
		},
		Renewed: func(term *election.Term, _ int, took time.Duration, err error) {
			t.left(term)
			if err == nil {
				i.renewals.Record(context.Background(), took.Seconds(), t.renewed...)
				return
			}
			i.renewals.Record(context.Background(), took.Seconds(),
				metric.WithAttributes(electionName.String(name), errorType.String(typeOf(err))))
		},
	}
}

func (t *tenure) left(term *election.Term) { t.validity.Store(int64(time.Until(term.Deadline()))) }

func (t *tenure) observe(o metric.Observer, i *Instruments) {
	leads, validity := int64(0), 0.0
	if term := t.term.Load(); term != nil && term.Valid() { // after a pause the term may be over before its hook is called
		leads, validity = 1, time.Duration(t.validity.Load()).Seconds()
	}
	o.ObserveInt64(i.leader, leads, t.attributes)
	o.ObserveFloat64(i.validity, max(validity, 0), t.attributes)
}

// ending returns how a term ended.
func ending(cause error) string {
	_, panicked := errors.AsType[*election.PanicError](cause)
	switch {
	case panicked:
		return "panic"
	case errors.Is(cause, redlock.ErrLost):
		return "lost"
	case errors.Is(cause, election.ErrLost):
		return "expired"
	case errors.Is(cause, election.ErrResigned):
		return "resigned"
	default:
		return "stopped"
	}
}
