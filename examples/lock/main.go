// Lock runs a piece of work that only one process may do at a time: start it twice.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/redlockfx/redlockfx/redlock"
)

// ttl is short, so that the first start is quick. A Redis that was never used looks like one that has lost its locks, so
// it grants nothing until the TTL has passed.
const ttl = 3 * time.Second

func main() {
	nodes := flag.String("nodes", "127.0.0.1:6379", "`host:port,...` of 1, 3 or 5 independent Redis masters")
	work := flag.Duration("work", 5*time.Second, "how long the work takes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, strings.Split(*nodes, ","), *work); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, nodes []string, work time.Duration) (err error) {
	locker, err := redlock.Open(nodes, redlock.WithTTL(ttl))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLocker(locker)) }()
	locker.OnNode(printGuard)

	host, err := os.Hostname()
	if err != nil {
		return err
	}
	holder := fmt.Sprintf("%s-%d", host, os.Getpid())
	if h, err := locker.Holder(ctx, "import"); err == nil {
		fmt.Printf("%s holds the lock until %s, waiting\n", h.Value, h.Expires.Format(time.TimeOnly))
	}
	return locker.Do(ctx, "import", func(ctx context.Context, lease *redlock.Lease) error {
		fmt.Printf("working as %s, token %d\n", holder, lease.Token())
		select {
		case <-time.After(work):
			fmt.Println("done")
			return nil
		case <-ctx.Done(): // the lease was lost, or somebody pressed Ctrl-C
			return fmt.Errorf("stopped working: %w", context.Cause(ctx))
		}
	}, redlock.WithValue(holder))
}

// printGuard prints why the very first start waits.
func printGuard(e redlock.NodeEvent) {
	if e.Kind == redlock.NodeGuarded {
		fmt.Printf("%s is new here, or was restarted: it grants nothing for another %v\n", e.Addr, e.Duration)
	}
}

func closeLocker(locker *redlock.Locker) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return locker.Close(ctx)
}
