package otelredlock

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/redlockfx/redlockfx/redlock"
)

const (
	serverAddress = attribute.Key("server.address")
	operation     = attribute.Key("redlock.operation")
)

// guard is the time until which a node grants nothing.
type guard struct {
	until      atomic.Pointer[time.Time]
	attributes metric.MeasurementOption
}

// LockHooks returns hooks for [redlock.WithHooks].
func (i *Instruments) LockHooks() redlock.Hooks {
	return redlock.Hooks{
		Guarded: func(node string, left time.Duration) {
			attributes := metric.WithAttributes(serverAddress.String(node))
			made, _ := i.nodes.LoadOrStore(node, &guard{attributes: attributes})
			until := time.Now().Add(left)
			made.(*guard).until.Store(&until)
		},
		NodeError: func(node, op string, err error) {
			i.nodeErrors.Add(context.Background(), 1, metric.WithAttributes(
				serverAddress.String(node), operation.String(op), errorType.String(typeOf(err))))
		},
		ClockJump: func(node string, _ time.Duration) {
			i.clockJumps.Add(context.Background(), 1, metric.WithAttributes(serverAddress.String(node)))
		},
	}
}

func (g *guard) observe(o metric.Observer, i *Instruments) {
	guarded := int64(0)
	if until := g.until.Load(); until != nil && time.Now().Before(*until) { // the hook for the guard's end may come late, if nobody asks the node
		guarded = 1
	}
	o.ObserveInt64(i.guarded, guarded, g.attributes)
}
