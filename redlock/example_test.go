package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
)

func ExampleLocker_Do() {
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
