package election_test

import (
	"context"
	"fmt"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
)

func ExampleElector() {
	nodes := nodetest.Start(3)
	defer nodes.Close()
	locker, err := redlock.New(nodes.Links().Clients())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	elector, err := election.New(locker, "billing", election.OnLeader(func(ctx context.Context) {
		term, _ := election.TermFrom(ctx)
		fmt.Println("leading, token", term.Token())
		stop() // as SIGTERM would
		<-ctx.Done()
		fmt.Println(context.Cause(ctx))
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(elector.Run(ctx), locker.Close(context.Background()))
	// Output:
	// leading, token 1
	// election: stopped: context canceled
	// <nil> <nil>
}
