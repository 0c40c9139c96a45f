package redlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/redlock"
)

// The clocks of all nodes were ahead and have been set back. Until they have caught up, tokens increase and one dead node of
// three stops nobody, although nodes remove old records and lose their data one after the other.
func TestSetBack_TokensIncrease(t *testing.T) {
	long(t)
	unused := func(t *testing.T, c *bubble.Cluster, l *redlock.Locker) {
		time.Sleep(time.Hour + time.Minute)
		for range 10 * redlock.SweepAfter {
			acquirePatiently(t, l, "y")
		}
		if records.Default.HasNumber(t, "x", c.Raw()[0]) {
			t.Error("an old record is still there")
		}
	}
	replaced := func(t *testing.T, c *bubble.Cluster, l *redlock.Locker, node int) {
		c.Kill(node)
		c.Wipe(node)
		c.Restart(node)
		time.Sleep(10 * time.Minute)
		acquirePatiently(t, l, "y")
		time.Sleep(time.Second) // until the node is replaced in the list
	}
	for name, of := range map[string]struct {
		nodes int
		then  func(t *testing.T, c *bubble.Cluster, l *redlock.Locker)
	}{
		"unused for an hour, one node": {1, unused},
		"unused for an hour":           {3, unused},
		"two nodes are replaced": {3, func(t *testing.T, c *bubble.Cluster, l *redlock.Locker) {
			replaced(t, c, l, 0)
			replaced(t, c, l, 1)
		}},
		"one node is replaced, another one dies": {3, func(t *testing.T, c *bubble.Cluster, l *redlock.Locker) {
			replaced(t, c, l, 1)
			for range 200 {
				acquirePatiently(t, l, "y")
			}
			c.Kill(2)
			acquirePatiently(t, l, "new")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Run(t, of.nodes, func(t *testing.T, c *bubble.Cluster) {
				l, _ := c.Locker()
				jumpAll(c, 10*time.Hour)
				acquirePatiently(t, l, "x")
				time.Sleep(time.Minute)
				jumpAll(c, -10*time.Hour)
				last := acquirePatiently(t, l, "x")
				of.then(t, c, l)
				later, _ := c.Locker() // has seen nothing of this
				if next := acquirePatiently(t, later, "x"); next <= last || next > last+1_000_000 {
					t.Errorf("token %d after %d", next, last)
				}
			})
		})
	}
}

// A number ahead of the clock may belong to a token that no process has told the node.
func TestSetBack_SweepsNoNumberThatMayComeAgain(t *testing.T) {
	bubble.Run(t, 3, func(t *testing.T, c *bubble.Cluster) {
		l, _ := c.Locker()
		last := uint64(time.Now().Add(10 * time.Hour).UnixMicro())
		for _, node := range c.Raw() {
			records.Default.SetNumber(t, "x", last, node)
		}
		time.Sleep(time.Hour + time.Minute)
		for range 10 * redlock.SweepAfter {
			acquireAndRelease(t, l, "y")
		}
		if next := acquireAndRelease(t, l, "x"); next <= last {
			t.Errorf("token %d after %d", next, last)
		}
	})
}

func jumpAll(c *bubble.Cluster, by time.Duration) {
	for i := range c.N {
		c.Jump(i, by)
	}
}

// acquirePatiently waits for the lock for up to a minute, releases it and returns its token.
func acquirePatiently(t *testing.T, l *redlock.Locker, name string) uint64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	lease, err := l.Acquire(ctx, name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	return lease.Token()
}
