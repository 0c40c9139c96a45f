// Fxapp is a service in fx with two elections. The first one has jobs: they write to a database, one under a lock, and one
// triggers the other. The second one has a callback. An HTTP server shows who leads the first one.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net"
	"net/http"
	"strings"
	"time"

	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"
	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// ttl is short, so that the first start is quick. A Redis that was never used looks like one that has lost its locks, so
// it grants nothing until the TTL has passed.
const ttl = 3 * time.Second

func main() {
	nodes := flag.String("nodes", "127.0.0.1:6379", "`host:port,...` of 1, 3 or 5 independent Redis masters")
	listen := flag.String("listen", "127.0.0.1:0", "where the state is served")
	flag.Parse()
	fx.New(
		fx.WithLogger(onlyProblems),
		fx.Provide(zap.NewDevelopment),
		service(redlockfx.Config{Name: "billing", Nodes: strings.Split(*nodes, ","), TTL: ttl}, address(*listen)),
		// 10 s drain timeout + 0.6 s stop margin + 4 node timeouts of 60 ms + 1 s, and the server's time to shut down.
		fx.StopTimeout(15*time.Second),
	).Run()
}

// onlyProblems makes fx log why the application does not start, and not each constructor.
func onlyProblems(log *zap.Logger) fxevent.Logger {
	return &fxevent.ZapLogger{Logger: log.WithOptions(zap.IncreaseLevel(zap.WarnLevel), zap.AddStacktrace(zap.FatalLevel))}
}

// address is where the state is served.
type address string

// service returns the whole application except for the logger.
func service(config redlockfx.Config, listen address) fx.Option {
	return fx.Options(
		fx.Supply(listen),
		fx.Provide(openDatabase),
		fx.Module("http", fx.Invoke(serve)), // before the elections, so that it stops after them

		fx.Supply(config),
		redlockfx.Module,
		redlockfx.Job(newInvoiceJob),
		redlockfx.Job(newMonthJob),

		redlockfx.Named("mail"),
		fx.Supply(fx.Annotate(redlockfx.Config{Name: "mail"}, fx.ResultTags(`name:"mail"`))),
		redlockfx.Locker(func(l *redlock.Locker) *redlock.Locker { return l }, redlockfx.For("mail")), // that of Module
		redlockfx.OnLeader(newMailer, redlockfx.For("mail")),
	)
}

// newInvoiceJob makes a job that sends invoices. The job takes the lock of a customer, so that no request changes that
// customer's invoices meanwhile.
func newInvoiceJob(db *database, locker *redlock.Locker) scheduler.Job {
	return scheduler.Job{
		Name: "invoices", Spec: "@every 5s", Timeout: time.Minute,
		Retry: scheduler.Retry{Times: 2, Wait: time.Second},
		Run: func(ctx context.Context, run scheduler.Run) error {
			return locker.Do(ctx, "customer/42", func(ctx context.Context, _ *redlock.Lease) error {
				return db.insert(ctx, "invoice of "+run.Key(), run.Token)
			})
		},
	}
}

// newMonthJob makes a job that closes the month, and then triggers the job that sends the invoices.
func newMonthJob(db *database, jobs *scheduler.Scheduler) scheduler.Job {
	return scheduler.Job{
		Name: "month", Spec: "0 0 1 * *",
		Run: func(ctx context.Context, run scheduler.Run) error {
			if err := db.insert(ctx, "month "+run.Key(), run.Token); err != nil {
				return err
			}
			return jobs.Trigger(ctx, "invoices")
		},
	}
}

// newMailer makes a callback that runs as long as this replica leads the second election.
func newMailer(db *database, log *zap.Logger) func(context.Context) {
	return func(ctx context.Context) {
		log.Info("mailing")
		<-ctx.Done()
		log.Info("no longer mailing", zap.Error(context.Cause(ctx)))
		if err := db.insert(context.WithoutCancel(ctx), "mailbox closed", 0); err != nil {
			log.Error("the mailbox was left open", zap.Error(err))
		}
	}
}

// state is the answer of the server.
type state struct {
	Leader string
	Jobs   []scheduler.Status
	Rows   []string
}

// serve starts a server that shows who leads and what the jobs have done. The server stops before the Locker is closed,
// wherever serve is listed.
func serve(lc fx.Lifecycle, listen address, e *election.Elector, jobs *scheduler.Scheduler, db *database, log *zap.Logger) {
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			var now state
			leader, err := e.Leader(r.Context())
			if err == nil {
				now.Leader, now.Rows = leader.ID, db.all()
				now.Jobs, err = jobs.Jobs(r.Context())
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			if err := json.NewEncoder(w).Encode(now); err != nil {
				log.Warn("failed to answer", zap.Error(err))
			}
		})}
	served := make(chan struct{})
	lc.Append(fx.StartStopHook(
		func() error {
			listener, err := net.Listen("tcp", string(listen))
			if err != nil {
				return err
			}
			log.Info("serving", zap.Stringer("address", listener.Addr()))
			go func() { // until Shutdown, which waits for requests
				defer close(served)
				if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
					log.Error("failed to serve", zap.Error(err))
				}
			}()
			return nil
		},
		func(ctx context.Context) error {
			err := server.Shutdown(ctx)
			<-served
			return err
		},
	))
}
