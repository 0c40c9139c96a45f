// Cron runs a job every five seconds in one of several processes: start it three times.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// ttl is short, so that the first start is quick. A Redis that was never used looks like one that has lost its locks, so
// it grants nothing until the TTL has passed.
const ttl = 3 * time.Second

func main() {
	nodes := flag.String("nodes", "127.0.0.1:6379", "`host:port,...` of 1, 3 or 5 independent Redis masters")
	spec := flag.String("spec", "@every 5s", "when the job runs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, strings.Split(*nodes, ","), *spec); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, nodes []string, spec string) (err error) {
	logger, err := zap.NewDevelopment()
	if err != nil {
		return err
	}
	locker, err := redlock.Open(nodes, redlock.WithTTL(ttl))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLocker(locker)) }()

	elector, err := election.New(locker, "cron-example", election.WithLogger(logger))
	if err != nil {
		return err
	}
	jobs, err := scheduler.New(elector, scheduler.WithLogger(logger))
	if err != nil {
		return err
	}
	err = jobs.Add(scheduler.Job{
		Name: "report", Spec: spec, Timeout: time.Minute,
		Run: func(ctx context.Context, run scheduler.Run) error {
			fmt.Printf("%s: pid %d, token %d\n", run.Key(), os.Getpid(), run.Token)
			return ctx.Err()
		},
	})
	if err != nil {
		return err
	}
	return elector.Run(ctx) // until ctx is done; then runs finish, and another process takes over
}

func closeLocker(locker *redlock.Locker) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return locker.Close(ctx)
}
