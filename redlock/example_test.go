package redlock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"time"

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

// A program that starts looks first whether its nodes grant locks. Nodes that were never used, or have restarted, do not yet; a
// wrong address never does.
func ExampleLocker_Ready() {
	locker, err := redlock.Open([]string{"127.0.0.1:1"}) // nothing listens there
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err = locker.Ready(ctx)
	fmt.Println(errors.Is(err, redlock.ErrNoQuorum), errors.Is(err, context.DeadlineExceeded))
	fmt.Println(locker.Close(context.Background()))
	// Output:
	// true true
	// <nil>
}

// setPrice is refused if a holder with a larger token has written to the row. Each write keeps its token in the row.
func setPrice(ctx context.Context, db *sql.DB, token uint64, article, price int) error {
	result, err := db.ExecContext(ctx, `UPDATE articles SET price = $1, fence = $2 WHERE id = $3 AND fence <= $2`, price, token, article)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); n == 1 || err != nil {
		return err
	}
	return fmt.Errorf("article %d: token %d is smaller than that of a later holder", article, token)
}

// A token makes one SQL statement safe against a holder that was paused for too long. Package fenced does the same for a whole
// transaction.
func ExampleLease_Token() {
	var (
		db     *sql.DB         // of your driver
		locker *redlock.Locker // from Open
	)
	err := locker.Do(context.Background(), "prices", func(ctx context.Context, lease *redlock.Lease) error {
		return setPrice(ctx, db, lease.Token(), 17, 499)
	})
	if err != nil {
		log.Fatal(err)
	}
}
