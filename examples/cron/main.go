// Cron is a service with a job, the page that shows it, and a probe: start it three times.
package main

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/redlockfx/redlockfx/dashboard"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/election/termlog"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Getenv("POD"), os.Getenv("LISTEN")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, pod, listen string) error {
	locker, err := redlock.Open(strings.Split(os.Getenv("REDIS_URL"), ",")) // one URL, or three, or five
	if err != nil {
		return err
	}
	elector, err := election.New(locker, "billing", election.WithIdentity(pod, ""), election.WithSlog(slog.Default()),
		election.WithHooks(termlog.Hooks())) // who led when, for the dashboard
	if err != nil {
		return err
	}
	jobs, err := scheduler.New(elector, scheduler.WithSlog(slog.Default())) // in UTC: see scheduler.WithLocation
	if err != nil {
		return err
	}
	err = jobs.Add(scheduler.Job{
		Name: "invoices", Spec: "@every 10s", // a nightly job has "0 2 * * *"
		Timeout: time.Minute,
		Run: func(ctx context.Context, run scheduler.Run) error { // ctx ends before another replica can lead
			slog.Info("sending invoices", "key", run.Key(), "token", run.Token)
			return nil
		},
	})
	if err != nil {
		return err
	}

	mux := http.NewServeMux()
	mux.Handle("/jobs/", http.StripPrefix("/jobs", dashboard.Handler(elector, jobs, dashboard.Until(ctx))))
	mux.HandleFunc("/livez", func(w http.ResponseWriter, _ *http.Request) {
		if err := elector.Check(); errors.Is(err, election.ErrRestart) { // as if work does not stop; never in a Redis outage
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	serving := make(chan error, 1)
	go func() { serving <- server.Serve(listener) }()

	err = elector.Run(ctx) // until SIGTERM; then runs get 10 s to finish, and another replica leads
	closing, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	err = errors.Join(err, locker.Close(closing), server.Shutdown(closing))
	if problem := <-serving; !errors.Is(problem, http.ErrServerClosed) {
		err = errors.Join(err, problem)
	}
	return err
}
