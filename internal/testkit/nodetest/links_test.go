package nodetest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

func TestClients_ReachOneNodeEach(t *testing.T) {
	bubble(t, 3, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		for i, client := range l.Clients() {
			ok(t, client.Set(t.Context(), "name", fmt.Sprintf("node %d", i), 0).Err())
			if got := client.(*redis.Client).Options().Addr; got != c.Addrs()[i] {
				t.Errorf("client %d has address %s, want %s", i, got, c.Addrs()[i])
			}
		}
		for i := range c.Addrs() {
			has(t, c, i, "name", fmt.Sprintf("node %d", i))
		}
	})
}

func TestClients_WorkInRealTime(t *testing.T) {
	c := nodetest.Start(2)
	defer c.Close()
	client := c.Links().Clients()[1]
	c.Delay(time.Millisecond)
	ok(t, client.Set(t.Context(), "k", "v", time.Hour).Err())
	has(t, c, 1, "k", "v")
	c.Hang()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	late := c.Links().Options(1)
	late.ContextTimeoutEnabled = true
	impatient := redis.NewClient(late)
	defer impatient.Close()
	if err := impatient.Ping(ctx).Err(); !isTimeout(err) {
		t.Errorf("ping of a hung node: %v, want a timeout", err)
	}
}

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

func TestRaw_SeesNodesPastEveryFault(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		raw := c.Raw()
		c.Hang(0)
		c.Kill(1)
		for i, node := range raw {
			if err := node.Set(t.Context(), "x", "y", 0).Err(); err != nil {
				t.Errorf("node %d: %v", i, err)
			}
			if n := c.Requests(i); n != 0 {
				t.Errorf("node %d counts %d requests", i, n)
			}
		}
		if c.Raw()[0] != raw[0] {
			t.Error("another client at the second call")
		}
		c.Restart(1)
		if got, err := l.Clients()[1].Get(t.Context(), "x").Result(); err != nil || got != "y" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
