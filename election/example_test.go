package election_test

import (
	"context"
	"fmt"
	"log"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
)

func ExampleElector() {
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
	ctx, stop := context.WithCancel(context.Background())
	elector, err := election.New(locker, "billing", election.OnLeader(func(ctx context.Context) {
		term, _ := election.TermFrom(ctx)
		fmt.Println("leading, with a token:", term.Token() > 0)
		stop() // like SIGTERM
		<-ctx.Done()
		fmt.Println(context.Cause(ctx))
	}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(elector.Run(ctx), locker.Close(context.Background()))
	// Output:
	// leading, with a token: true
	// election: stopped: context canceled
	// <nil> <nil>
}
