package redlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlockfx/redlockfx/internal/quorum"
)

// spread is how far apart those who wait for the same end of a lease or a guard ask again: at random,
// for asking at once they would split the votes.
const spread = 20 * time.Millisecond

// letOthers goes on early when ctx is done or the Locker closes, at which the attempt that follows looks
// itself. What is told meanwhile is older than what that attempt finds.
func (c *contender) letOthers(ctx context.Context) {
	if c.yield > 0 {
		select {
		case <-time.After(c.yield):
		case <-c.locker.open.Done():
		case <-ctx.Done():
		}
		if c.news != nil {
			c.news.drop()
		}
	}
}

// pause is how long to wait for news.
func (c *contender) pause(err error) time.Duration {
	if c.holder != "" {
		return c.left + c.yield + rand.N(spread)
	}
	c.failures++
	if left := guardLeft(err); left > 0 {
		return left + c.yield + rand.N(spread)
	}
	if !slices.ContainsFunc(c.order, c.isNew) {
		clear(c.seen) // all who answer were asked, and no majority named the same
	}
	return c.backoff.After(c.failures) + c.yield
}

// isNew tells that a node has not said yet who holds the lock, and may.
func (c *contender) isNew(node int) bool {
	_, seen := c.seen[node]
	return !seen && !c.locker.quorum.Overdue(node)
}

// guardLeft is after what time so many guards are over that a quorum can be had; 0 if that would not
// be enough.
func guardLeft(err error) time.Duration {
	q, ok := errors.AsType[*QuorumError](err)
	if !ok || !errors.Is(err, ErrGuarded) {
		return 0
	}
	var left []time.Duration
	missing, open := q.Need-q.Got, 0
	for _, n := range q.Nodes {
		if errors.Is(n.Err, quorum.ErrNoAnswer) {
			open++
		}
		if g, ok := errors.AsType[guardedError](n.Err); ok {
			left = append(left, g.left)
		}
	}
	slices.Sort(left)
	if open < missing {
		missing -= open // they were not waited for, and may say yes
	}
	if missing < 1 || missing > len(left) {
		return 0
	}
	return left[missing-1]
}
