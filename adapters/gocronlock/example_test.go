package gocronlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/redlockfx/redlockfx/adapters/gocronlock"
	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
)

func Example() {
	nodes, err := redlocktest.Start(3) // in memory
	if err != nil {
		log.Fatal(err)
	}
	defer nodes.Close()
	// In production: redlock.Open([]string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"})
	locker, err := redlock.New(nodes.Process().Clients())
	if err != nil {
		log.Fatal(err)
	}
	leads := make(chan struct{})
	elector, err := election.New(locker, "billing", election.OnLeader(func(ctx context.Context) {
		close(leads)
		<-ctx.Done()
	}))
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- elector.Run(ctx) }()
	<-leads

	jobs, err := gocron.NewScheduler(gocron.WithDistributedElector(gocronlock.Elector(elector)))
	if err != nil {
		log.Fatal(err)
	}
	ran := make(chan string)
	job, err := jobs.NewJob(gocron.DurationJob(time.Hour), gocron.NewTask(func() { ran <- "invoices are sent" }))
	if err != nil {
		log.Fatal(err)
	}
	jobs.Start()
	err = job.RunNow()
	fmt.Println(<-ran)
	err = errors.Join(err, jobs.Shutdown())
	stop()
	fmt.Println(errors.Join(err, <-ended, locker.Close(context.Background())))
	// Output:
	// invoices are sent
	// <nil>
}

func ExampleLocker() {
	nodes, err := redlocktest.Start(3) // in memory
	if err != nil {
		log.Fatal(err)
	}
	defer nodes.Close()
	var replicas []gocron.Locker
	for range 2 {
		// In production: redlock.Open([]string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"})
		lock, err := redlock.New(nodes.Process().Clients())
		if err != nil {
			log.Fatal(err)
		}
		defer func() { _ = lock.Close(context.Background()) }() // the lock that is still held expires
		locker, err := gocronlock.Locker(lock, 5*time.Second)   // for gocron.WithDistributedLocker
		if err != nil {
			log.Fatal(err)
		}
		replicas = append(replicas, locker)
	}
	ctx := context.Background()
	run, err := replicas[0].Lock(ctx, "invoices") // as gocron does
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Unlock(ctx)) // after a moment
	_, err = replicas[1].Lock(ctx, "invoices")
	fmt.Println("held for the replica that ticks later:", errors.Is(err, redlock.ErrHeld))
	// Output:
	// <nil>
	// held for the replica that ticks later: true
}
