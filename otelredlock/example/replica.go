package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	prometheusexporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/otelredlock"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	ttl      = 3 * time.Second // long enough for a tick between a cut and the end of the term
	badEvery = 5               // every fifth tick fails
)

type openLocker func(...redlock.Option) (*redlock.Locker, error)

// replica is one process of the service.
type replica struct {
	name   string
	open   openLocker
	meters *sdkmetric.MeterProvider
}

// newReplica registers the metrics that the replica exports. A service in its own process can use the exporter's
// default registry.
func newReplica(name string, open openLocker, registry prometheus.Registerer) (*replica, error) {
	labelled := prometheus.WrapRegistererWith(prometheus.Labels{"replica": name}, registry)
	exporter, err := prometheusexporter.New(prometheusexporter.WithRegisterer(labelled))
	if err != nil {
		return nil, err
	}
	return &replica{name, open, sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))}, nil
}

// serve does what a service does.
func (r *replica) serve(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, r.meters.Shutdown(context.Background())) }()
	telemetry, err := otelredlock.New(otelredlock.WithMeterProvider(r.meters))
	if err != nil {
		return err
	}

	locker, err := r.open(redlock.WithTTL(ttl), redlock.WithNodeTimeout(200*time.Millisecond))
	if err != nil {
		return err
	}
	locker.OnNode(telemetry.Node)
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = locker.Close(closing) // locks that it could not remove expire
	}()
	elector, err := election.New(locker, "billing", election.WithIdentity(r.name, ""),
		election.WithHooks(telemetry.ElectionHooks("billing")))
	if err != nil {
		return err
	}
	jobs, err := scheduler.New(elector,
		scheduler.WithHooks(telemetry.JobHooks()), scheduler.WithMiddleware(telemetry.Middleware))
	if err != nil {
		return err
	}
	if err := jobs.Add(scheduler.Job{Name: "invoices", Spec: "@every 1s", Run: work}); err != nil {
		return err
	}
	return elector.Run(ctx)
}

func work(ctx context.Context, run scheduler.Run) error {
	select {
	case <-time.After(20 * time.Millisecond):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if run.Tick.Unix()%badEvery == 0 {
		return fmt.Errorf("no invoices in second %d", run.Tick.Second())
	}
	return nil
}
