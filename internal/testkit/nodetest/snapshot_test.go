package nodetest_test

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

func TestRestartFrom_BringsBackOlderData(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		hash := map[string]string{"a": "1", "": "with\r\nbreaks", "empty": ""}
		ok(t, client.Set(t.Context(), "string", "old", 0).Err())
		ok(t, client.Set(t.Context(), "empty", "", 0).Err())
		ok(t, client.HSet(t.Context(), "hash", hash).Err())
		ok(t, client.PExpire(t.Context(), "hash", 20*time.Second).Err())
		ok(t, client.Set(t.Context(), "short", "v", 10*time.Second).Err())
		file := c.Snapshot(0)

		ok(t, client.Set(t.Context(), "string", "new", time.Minute).Err())
		ok(t, client.Del(t.Context(), "hash", "empty").Err())
		ok(t, client.Set(t.Context(), "later", "v", 0).Err())
		time.Sleep(12 * time.Second)
		c.RestartFrom(0, file)

		want := []string{"empty", "hash", "string"}
		if got := c.Node(0).Keys(); !slices.Equal(got, want) {
			t.Errorf("keys %q, want %q", got, want)
		}
		has(t, c, 0, "string", "old")
		has(t, c, 0, "empty", "")
		if got := client.HGetAll(t.Context(), "hash").Val(); !maps.Equal(got, hash) {
			t.Errorf("hash %q, want %q", got, hash)
		}
		if got := c.Node(0).TTL("hash"); got != 8*time.Second {
			t.Errorf("after 12s of 20s the TTL is %v, want 8s", got)
		}
		if got := c.Node(0).TTL("string"); got != 0 {
			t.Errorf("a key without an end got one in %v", got)
		}
		c.RestartFrom(1, file) // a snapshot can be used again, and elsewhere
		has(t, c, 1, "string", "old")
	})
}

func TestSnapshot_KeepsInstantsOfTheNodesClock(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		c.Offset(0, -time.Hour)
		ok(t, client.Set(t.Context(), "short", "v", 10*time.Second).Err())
		ok(t, client.Set(t.Context(), "long", "v", 20*time.Second).Err())
		file := c.Snapshot(0)

		c.Kill(0)
		c.Jump(0, 15*time.Second)
		c.RestartFrom(0, file)
		if got := client.PTTL(t.Context(), "long").Val(); got != 5*time.Second {
			t.Errorf("after a jump of 15s of 20s the TTL is %v, want 5s", got)
		}
		if c.Node(0).Exists("short") {
			t.Error("a key came back that has expired by the node's clock")
		}
		c.Jump(0, -15*time.Second)
		c.RestartFrom(0, file)
		if got := client.PTTL(t.Context(), "short").Val(); got != 10*time.Second {
			t.Errorf("with the clock set back, the TTL is %v, want 10s again", got)
		}
	})
}

func TestSnapshot_FallsBetweenScripts(t *testing.T) {
	c := nodetest.Start(2)
	defer c.Close()
	client := c.Links().Clients()[0]
	const script = `redis.call('INCR', 'a') return redis.call('INCR', 'b')`
	ok(t, client.Eval(t.Context(), script, nil).Err())
	var calls sync.WaitGroup
	calls.Go(func() {
		for range 200 {
			if err := client.Eval(t.Context(), script, nil).Err(); err != nil {
				t.Error(err)
			}
		}
	})
	for range 50 {
		c.RestartFrom(1, c.Snapshot(0))
		a, _ := c.Node(1).Get("a")
		has(t, c, 1, "b", a)
	}
	calls.Wait()
}
