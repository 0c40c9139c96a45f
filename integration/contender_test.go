//go:build unix

package integration_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/redlockfx/redlockfx/integration"
	"github.com/redlockfx/redlockfx/internal/retry"
	"github.com/redlockfx/redlockfx/redlock"
)

const (
	leaseName = "x"
	leaseTTL  = time.Second
)

// The events of a contender. At is when a call returned and, except for polled, Since is when it started.
const (
	acquired  integration.Kind = "acquired"  // with the deadline
	extended  integration.Kind = "extended"  // with the new deadline
	polled    integration.Kind = "polled"    // the lease was valid
	releasing integration.Kind = "releasing" // before the release
	released  integration.Kind = "released"
	failed    integration.Kind = "failed" // the text says which call, and why
)

// contender is a program that keeps taking a lock, working under it and releasing it, until it is killed.
type contender struct {
	*replica
	random *rand.Rand
	locker *redlock.Locker
}

// contend is the main function of a contender. It returns only if it cannot start.
func (r *replica) contend() error {
	locker, err := redlock.Open(r.Nodes, redlock.WithTTL(leaseTTL), redlock.WithNodeTimeout(leaseTTL/5))
	if err != nil {
		return err
	}
	seed := fnv.New64()
	seed.Write([]byte(r.Name))
	c := contender{replica: r, random: rand.New(rand.NewPCG(seed.Sum64(), 0)), locker: locker}
	for {
		if lease := c.acquire(); lease != nil {
			c.hold(lease)
		}
	}
}

func (c *contender) acquire() *redlock.Lease {
	ctx, cancel := context.WithTimeout(context.Background(), c.upTo(4*leaseTTL))
	defer cancel()
	began := c.clock.now()
	lease, err := c.locker.Acquire(ctx, leaseName, redlock.WithValue(c.Name))
	c.tell(acquired, began, lease, err)
	return lease
}

// hold polls the lease and extends it sometimes. At the end it releases the lease, or lets it expire.
func (c *contender) hold(lease *redlock.Lease) {
	for c.random.IntN(5) > 0 {
		_ = retry.Sleep(context.Background(), c.upTo(leaseTTL/5))
		began := c.clock.now()
		if !lease.Valid() {
			break
		}
		c.tell(polled, began, lease, nil)
		if c.random.IntN(2) > 0 {
			began = c.clock.now()
			c.tell(extended, began, lease, lease.Extend(context.Background()))
		}
	}
	if c.random.IntN(4) == 0 {
		lease.Abandon()
		return
	}
	began := c.clock.now()
	c.tell(releasing, began, lease, nil)
	c.tell(released, began, lease, lease.Release(context.Background()))
}

// tell writes the event of a call that has just returned.
func (c *contender) tell(kind integration.Kind, began time.Duration, lease *redlock.Lease, err error) {
	e := c.event(kind, nil)
	e.Since = began
	if lease != nil {
		e.Token, e.Deadline = lease.Token(), c.clock.at(lease.Deadline())
	}
	if err != nil {
		e.Kind, e.Text = failed, fmt.Sprintf("not %s: %v", kind, err)
	}
	c.write(e)
}

// upTo returns a random duration up to d.
func (c *contender) upTo(d time.Duration) time.Duration {
	return time.Millisecond + time.Duration(c.random.Int64N(int64(d)))
}
