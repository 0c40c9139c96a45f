package nodetest_test

import (
	"strings"
	"testing"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

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
