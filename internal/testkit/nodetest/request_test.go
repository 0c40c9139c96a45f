package nodetest_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

func TestRequests_CountsWhatClientsAsk(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l) // sends a PING
		want := 1
		counted := func(what string) {
			t.Helper()
			if got := c.Requests(0); got != want {
				t.Errorf("%s: %d requests, want %d", what, got, want)
			}
		}
		counted("first ping")
		ok(t, client.Info(t.Context()).Err())
		do(t, client, "ROLE")
		do(t, client, "CONFIG", "GET", "*")
		counted("setup")
		script := `redis.call('SET', 'k', 'v') return redis.call('GET', 'k')`
		ok(t, client.Eval(t.Context(), script, nil).Err())
		want++
		counted("a script")
		_, err := client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			for range 5 {
				p.Incr(t.Context(), "n")
			}
			return nil
		})
		ok(t, err)
		want += 5
		counted("a pipeline")
		ok(t, client.Set(t.Context(), "k", strings.Repeat("0123456789", 100_000), 0).Err())
		want++
		counted("a long command")
		c.Snapshot(0)
		c.Restart(0)
		counted("the cluster itself")
		l.Answer(loading)
		if err := client.Get(t.Context(), "k").Err(); err == nil {
			t.Error("a refused command was answered")
		}
		want++
		counted("a refused command")
		c.Hang()
		go client.Get(t.Context(), "k")
		synctest.Wait()
		want++
		counted("a command that has not arrived")
		if got := c.Requests(1); got != 0 {
			t.Errorf("a node that nobody asked has %d requests", got)
		}
		c.Heal()
	})
}
