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

// Node records an event of a node. Pass it to [redlock.Locker.OnNode].
func (i *Instruments) Node(e redlock.NodeEvent) {
	address := serverAddress.String(e.Addr)
	switch e.Kind {
	case redlock.NodeFails, redlock.NodeProblem, redlock.NodeDenies:
		i.nodeErrors.Add(context.Background(), 1, metric.WithAttributes(
			address, operation.String(e.Op), errorType.String(typeOf(e.Err))))
	case redlock.NodeGuarded, redlock.NodeGrants:
		made, _ := i.nodes.LoadOrStore(e.Addr, &guard{attributes: metric.WithAttributes(address)})
		until := time.Now().Add(e.Duration)
		made.(*guard).until.Store(&until)
	case redlock.NodeStepped:
		i.clockJumps.Add(context.Background(), 1, metric.WithAttributes(address))
	}
}

func (g *guard) observe(o metric.Observer, i *Instruments) {
	guarded := int64(0)
	if until := g.until.Load(); until != nil && time.Now().Before(*until) { // the event of the guard's end may come late, if nobody asks the node
		guarded = 1
	}
	o.ObserveInt64(i.guarded, guarded, g.attributes)
}
