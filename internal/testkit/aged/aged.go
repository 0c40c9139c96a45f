// Package aged starts in-memory nodes whose restart guard is over, so that they grant leases at once.
package aged

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
)

// upFor is how long the nodes seem to have been up: longer than any lease.
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

// beginGuards uses the nodes for the first time, which begins their guards.
func beginGuards(c *nodetest.Cluster, opts []redlock.Option) error {
	links := c.Links()
	defer links.Close()
	l, err := redlock.New(links.Clients(), opts...)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := l.TryAcquire(ctx, "aged"); !errors.Is(err, redlock.ErrGuarded) {
		return fmt.Errorf("new nodes: got %w, want %w", err, redlock.ErrGuarded)
	}
	return l.Close(ctx) // returns when all nodes have answered
}
