package redlock_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
)

func ExampleLocker_Do() {
	nodes := nodetest.Start(3)
	defer nodes.Close()
	// or redlock.Open([]string{"r1:6379", ...}); without a guard, since these nodes are thrown away
	locker, err := redlock.New(nodes.Links().Clients(), redlock.WithoutRestartGuard())
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	err = locker.Do(ctx, "import", func(ctx context.Context, lease *redlock.Lease) error {
		fmt.Println("working, with a token:", lease.Token() > 0)
		_, err := locker.TryAcquire(ctx, "import")
		fmt.Println("somebody else:", errors.Is(err, redlock.ErrHeld))
		return nil
	})
	fmt.Println(err, locker.Close(ctx))
	// Output:
	// working, with a token: true
	// somebody else: true
	// <nil> <nil>
}
