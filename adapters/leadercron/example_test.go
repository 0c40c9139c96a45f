package leadercron_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/robfig/cron/v3"

	"github.com/redlockfx/redlockfx/adapters/leadercron"
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
	jobs := cron.New(cron.WithChain(leadercron.OnLeader(elector)))
	id, err := jobs.AddFunc("0 2 * * *", func() { fmt.Println("invoices are sent") })
	if err != nil {
		log.Fatal(err)
	}
	atTwo := jobs.Entry(id).WrappedJob.Run // cron calls this
	atTwo()                                // does nothing: this process does not lead
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- elector.Run(ctx) }()
	<-leads
	atTwo()
	stop()
	fmt.Println(errors.Join(<-ended, locker.Close(context.Background())))
	// Output:
	// invoices are sent
	// <nil>
}
