package nodetest_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

// says returns one field of what node 0 answers to INFO.
func says(t *testing.T, client *redis.Client, field string) string {
	t.Helper()
	text, err := client.Info(t.Context()).Result()
	ok(t, err)
	for line := range strings.SplitSeq(text, "\r\n") {
		if name, value, _ := strings.Cut(line, ":"); name == field {
			return value
		}
	}
	return ""
}

func TestRestart_MakesAnotherServerOfTheSameData(t *testing.T) {
	restarts := map[string]func(*nodetest.Cluster){
		"Restart":     func(c *nodetest.Cluster) { c.Restart(0) },
		"after Kill":  func(c *nodetest.Cluster) { c.Kill(0); c.Restart(0) },
		"RestartFrom": func(c *nodetest.Cluster) { c.RestartFrom(0, c.Snapshot(0)) },
	}
	for name, restart := range restarts {
		t.Run(name, func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, c *nodetest.Cluster, l *nodetest.Links) {
				client := single(t, l)
				ok(t, client.Set(t.Context(), "k", "v", 0).Err())
				sha := client.ScriptLoad(t.Context(), "return 1").Val()
				runID, replID := says(t, client, "run_id"), says(t, client, "master_replid")

				l.Hang()
				under := make(chan error)
				go func() { under <- client.Incr(t.Context(), "k").Err() }()
				synctest.Wait()
				restart(c)
				if err := <-under; !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("call under way: %v, want a reset", err)
				}
				l.Heal()

				if got := says(t, client, "run_id"); got == runID {
					t.Errorf("still the run id %s", got)
				}
				if got := says(t, client, "master_replid"); got == replID {
					t.Errorf("still the replication id %s", got)
				}
				if err := client.EvalSha(t.Context(), sha, nil).Err(); !errors.Is(err, redis.ErrNoScript) {
					t.Errorf("cached script: %v, want %v", err, redis.ErrNoScript)
				}
				has(t, c, 0, "k", "v")
			})
		})
	}
}
