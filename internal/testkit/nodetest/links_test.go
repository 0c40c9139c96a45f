package nodetest_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

func TestLinks_LeadToAnotherNode(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client, other := l.Clients()[0], c.Links().Clients()[0]
		ok(t, client.Set(t.Context(), "name", "first", 0).Err())
		l.Lead(0, 1)
		ok(t, client.Set(t.Context(), "name", "second", 0).Err()) // go-redis dials again by itself
		has(t, c, 0, "name", "first")
		has(t, c, 1, "name", "second")
		if got := other.Get(t.Context(), "name").Val(); got != "first" {
			t.Errorf("another process reads %q", got)
		}
		c.Cut(0)
		ok(t, client.Ping(t.Context()).Err())
		l.Lead(0, 0)
		c.Heal()
		if got := client.Get(t.Context(), "name").Val(); got != "first" {
			t.Errorf("when it leads to its own node again, it reads %q", got)
		}
	})
}

func TestLinks_FailApart(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		mine, theirs := single(t, l), single(t, c.Links())
		l.Cut()
		if err := mine.Ping(t.Context()).Err(); err == nil {
			t.Error("a cut link answered")
		}
		ok(t, theirs.Ping(t.Context()).Err())
		l.Heal()
		c.Cut()
		for _, client := range []*redis.Client{mine, theirs} {
			if err := client.Ping(t.Context()).Err(); err == nil {
				t.Error("a node cut off for everybody answered")
			}
		}
		l.Cut()
		c.Heal() // ends both
		ok(t, mine.Ping(t.Context()).Err())
		ok(t, theirs.Ping(t.Context()).Err())
	})
}

func TestLinks_DeliverAfterTheirProcessEnded(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := l.Clients()[0]
		ok(t, client.Ping(t.Context()).Err())
		c.Hang()
		var call sync.WaitGroup
		call.Go(func() { client.Set(context.Background(), "k", "late", 0) })
		synctest.Wait()
		l.Close()
		call.Wait()
		if c.Node(0).Exists("k") {
			t.Error("a hung node handled a request")
		}
		c.Heal()
		synctest.Wait()
		has(t, c, 0, "k", "late")
	})
}
