package redlockfx_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"

	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/scheduler"
)

func Example() {
	nodes := nodetest.Start(1)
	defer nodes.Close()
	client := nodes.Links().Clients()[0]

	done := make(chan string, 1)
	app := fx.New(
		fx.NopLogger,
		// or the addresses of 3 or 5, as Nodes. This node is new, so nobody leads for the first second.
		fx.Supply(redlockfx.Config{Name: "billing", TTL: time.Second}),
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
