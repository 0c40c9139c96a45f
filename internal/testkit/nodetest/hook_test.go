package nodetest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

func TestSetPreHook_ComesBeforeTheNodesOwnAnswers(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		c.Deny(0, "GET")
		c.SetPreHook(0, func(p *server.Peer, cmd string, _ ...string) bool {
			switch cmd {
			case "INFO", "GET", "NOSUCH":
				p.WriteBulk("from the hook")
				return true
			}
			return false
		})
		c.Restart(0)
		for _, command := range []string{"INFO", "GET", "NOSUCH"} {
			if got := do(t, client, command); got != "from the hook" {
				t.Errorf("%s: %q, want the hook's answer", command, got)
			}
			script := `return redis.call('` + command + `')`
			if got := client.Eval(t.Context(), script, nil).Val(); got != "from the hook" {
				t.Errorf("%s in a script: %q, want the hook's answer", command, got)
			}
		}
		ok(t, client.Ping(t.Context()).Err())
		c.SetPreHook(0, nil)
		if got := do(t, client, "INFO"); got == "from the hook" {
			t.Error("the hook answers after its end")
		}
	})
}

func TestDeny_RefusesInAndOutOfScripts(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		c.Deny(0, "info", "PUBLISH", "SUBSCRIBE")
		for _, command := range []string{"INFO", "PUBLISH", "SUBSCRIBE"} {
			want := "NOPERM this user has no permissions to run the '" +
				strings.ToLower(command) + "' command"
			if err := client.Do(t.Context(), command, "a", "b").Err(); err == nil || err.Error() != want {
				t.Errorf("%s: %v, want %s", command, err, want)
			}
			script := `return redis.pcall('` + command + `', 'a', 'b').err`
			if got := client.Eval(t.Context(), script, nil).Val(); got != want {
				t.Errorf("%s by redis.pcall: %v, want %s", command, got, want)
			}
			script = `redis.call('` + command + `', 'a', 'b') return 'went on'`
			err := client.Eval(t.Context(), script, nil).Err()
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s by redis.call: %v, want %s", command, err, want)
			}
		}
		ok(t, client.Ping(t.Context()).Err())

		c.Deny(0, "PUBLISH")
		ok(t, client.Info(t.Context()).Err())
		c.Deny(0)
		ok(t, client.Publish(t.Context(), "a", "b").Err())
	})
}

func TestDeny_DoesNotConcernTheCluster(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
		client := single(t, l)
		ok(t, client.Set(t.Context(), "k", "v", 0).Err())
		sha := client.ScriptLoad(t.Context(), "return 1").Val()
		c.Deny(0, "EVAL", "KEYS", "GET", "SET", "FLUSHALL", "MULTI", "SCRIPT")
		c.RestartFrom(0, c.Snapshot(0))
		has(t, c, 0, "k", "v")
		if err := client.EvalSha(t.Context(), sha, nil).Err(); !errors.Is(err, redis.ErrNoScript) {
			t.Errorf("cached script: %v, want %v", err, redis.ErrNoScript)
		}
	})
}
