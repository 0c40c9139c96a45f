// Package aged starts in-memory nodes whose restart guard is over, so that they grant leases at once.
package aged

import (
	"context"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/redlock"
)

// upFor is how long ago the guards of the nodes seem to have begun: longer than any lease.
const upFor = 1000 * time.Hour

// Start starts n nodes whose guard, for Lockers with these options, began long ago.
func Start(n int, opts ...redlock.Option) (*nodetest.Cluster, error) {
	c := nodetest.Start(n)
	for i := range n {
		c.Offset(i, -upFor)
	}
	if err := beginGuards(c, opts); err != nil {
		c.Close()
		return nil, err
	}
	for i := range n {
		c.Offset(i, 0)
	}
	return c, nil
}

// beginGuards starts the guards of the nodes by using the nodes for the first time.
func beginGuards(c *nodetest.Cluster, opts []redlock.Option) error {
	links := c.Links()
	defer links.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		l, err := redlock.New(links.Clients(), opts...)
		if err != nil {
			return err
		}
		settings := l.Settings()
		if settings.RestartGuard {
			_, _ = l.TryAcquire(ctx, "aged") // new nodes refuse
		}
		if err := l.Close(ctx); err != nil { // returns when all nodes have answered
			return err
		}
		if !settings.RestartGuard || begun(c, records.Prefix(settings.KeyPrefix).Hash()) {
			return nil
		}
	}
	return fmt.Errorf("new nodes: no guard: %w", ctx.Err())
}

// begun reports whether all nodes have a guard. On a busy machine, a request may have come too late to start one.
func begun(c *nodetest.Cluster, hash string) bool {
	for i := range c.Addrs() {
		if c.Node(i).HGet(hash, "g") == "" {
			return false
		}
	}
	return true
}
