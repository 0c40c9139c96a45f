package election_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
)

func ExampleElector() {
	nodes := nodetest.Start(3)
	defer nodes.Close()
	// These nodes are new, so nobody leads for the first second.
	locker, err := redlock.New(nodes.Links().Clients(), redlock.WithTTL(time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	elector, err := election.New(locker, "billing", election.OnLeader(func(ctx context.Context) {
		term, _ := election.TermFrom(ctx)
		fmt.Println("leading, with a token:", term.Token() > 0)
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
	// leading, with a token: true
	// election: stopped: context canceled
	// <nil> <nil>
}
