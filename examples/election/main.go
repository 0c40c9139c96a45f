// Election keeps one of several processes in charge: start it three times.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
)

// ttl is short, so that the first start is quick. A Redis that was never used looks like one that has lost its locks, so
// it grants nothing until the TTL has passed.
const ttl = 3 * time.Second

func main() {
	nodes := flag.String("nodes", "127.0.0.1:6379", "`host:port,...` of 1, 3 or 5 independent Redis masters")
	health := flag.String("health", "", "`host:port` to serve /healthz at")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, strings.Split(*nodes, ","), *health); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, nodes []string, health string) (err error) {
	logger, err := zap.NewDevelopment()
	if err != nil {
		return err
	}
	locker, err := redlock.Open(nodes, redlock.WithTTL(ttl))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLocker(locker)) }()

	elector, err := election.New(locker, "example",
		election.WithLogger(logger), election.OnLeader(func(ctx context.Context) { lead(ctx, logger) }))
	if err != nil {
		return err
	}
	if health != "" {
		server := serveHealth(health, elector, logger)
		defer func() { err = errors.Join(err, server.Close()) }()
	}
	return elector.Run(ctx) // until ctx is done; then it drains and hands over
}

// lead does the work of the leader. It must return soon after its context has ended.
func lead(ctx context.Context, logger *zap.Logger) {
	term, _ := election.TermFrom(ctx)
	for {
		select {
		case <-ctx.Done():
			logger.Info("stopping", zap.Error(context.Cause(ctx)))
			return
		case <-time.After(time.Second):
			logger.Info("leading", zap.Uint64("token", term.Token()))
		}
	}
}

// serveHealth answers a liveness probe. The answer does not depend on leadership: a follower is as healthy as a leader.
func serveHealth(addr string, elector *election.Elector, logger *zap.Logger) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := elector.Check(); errors.Is(err, election.ErrRestart) {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Addr: addr, Handler: mux, ReadHeaderTimeout: time.Second}
	go func() { // until server.Close, at the end of run
		if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("failed to serve the health endpoint", zap.Error(err))
		}
	}()
	return server
}

func closeLocker(locker *redlock.Locker) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return locker.Close(ctx)
}
