// Fxapp is a service in fx: a job with a dependency, a callback, and nothing to start or stop by hand.
package main

import (
	"context"
	"flag"
	"strings"
	"time"

	"go.uber.org/fx"
	"go.uber.org/zap"

	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/scheduler"
)

// ttl is short, because a Redis that was never used before grants nothing for as long: nobody can tell
// it from one that has forgotten its locks.
const ttl = 3 * time.Second

func main() {
	nodes := flag.String("nodes", "127.0.0.1:6379", "`host:port,...` of 1, 3 or 5 independent Redis masters")
	flag.Parse()
	app(redlockfx.Config{Name: "fxapp", Nodes: strings.Split(*nodes, ","), TTL: ttl}).Run()
}

func app(config redlockfx.Config) *fx.App {
	return fx.New(
		fx.NopLogger,
		fx.StopTimeout(15*time.Second), // above the drain timeout, 10 s
		fx.Provide(zap.NewDevelopment, newInvoices),
		fx.Supply(config),
		redlockfx.Module,
		redlockfx.Job(newInvoiceJob),
		redlockfx.OnLeader(newWatcher),
	)
}

// invoices stands for what the job works on: a database, say.
type invoices struct{ log *zap.Logger }

func newInvoices(log *zap.Logger) *invoices { return &invoices{log} }

func (i *invoices) send(_ context.Context, run scheduler.Run) error {
	i.log.Info("invoices sent", zap.String("run", run.Key()), zap.Uint64("token", run.Token))
	return nil
}

func newInvoiceJob(i *invoices) scheduler.Job {
	return scheduler.Job{
		Name: "invoices", Spec: "@every 5s", Timeout: time.Minute,
		Retry: scheduler.Retry{Times: 2, Wait: time.Second},
		Run:   i.send,
	}
}

// newWatcher makes a callback that runs as long as this replica leads.
func newWatcher(log *zap.Logger) func(context.Context) {
	return func(ctx context.Context) {
		log.Info("watching")
		<-ctx.Done()
		log.Info("no longer watching", zap.Error(context.Cause(ctx)))
	}
}
