package redlockfx_test

import (
	"context"
	"fmt"
	"log"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"

	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

func Example() {
	nodes, err := redlocktest.Start(1) // in memory
	if err != nil {
		log.Fatal(err)
	}
	defer nodes.Close()
	client := nodes.Process().Clients()[0]

	done := make(chan string, 1)
	app := fx.New(
		fx.NopLogger,
		fx.Supply(redlockfx.Config{Name: "billing"}),
		// In production, in the Config: Nodes: []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"}
		redlockfx.Node(func() redis.UniversalClient { return client }),
		redlockfx.Module,
		redlockfx.Job(func() scheduler.Job {
			return scheduler.Job{Name: "invoices", Spec: "* * * * * *", Run: func(_ context.Context, run scheduler.Run) error {
				select {
				case done <- run.Job:
				default: // one is enough
				}
				return nil
			}}
		}),
	)
	ctx := context.Background()
	fmt.Println(app.Start(ctx))
	fmt.Println(<-done)
	fmt.Println(app.Stop(ctx))
	// Output:
	// <nil>
	// invoices
	// <nil>
}
