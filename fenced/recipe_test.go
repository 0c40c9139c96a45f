//go:build unix

package fenced_test

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
)

// recipe returns the script of the page, as it is there, and a client of a real redis-server.
func recipe(t *testing.T) (*redis.Script, *redis.Client) {
	t.Helper()
	page, err := os.ReadFile("../docs/exactly-once.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```lua\n")
	script, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page has no script")
	}
	cluster, err := redisproc.Start(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: cluster.Node(0).Addr()})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return redis.NewScript(script), client
}

func TestRecipe_ForRedis(t *testing.T) {
	script, client := recipe(t)
	for _, step := range []struct {
		token, value string
		want         int
	}{
		{"1795313814812500", "a", 1}, {"1795313814812500", "b", 1}, {"1795313814812499", "c", 0}, {"999", "d", 0},
		{"9007199254740993", "e", 1}, {"9007199254740992", "f", 0}, {"10000000000000000", "g", 1}, {"9007199254740993", "h", 0},
	} {
		got, err := script.Run(t.Context(), client, []string{"report"}, step.token, step.value).Int()
		if err != nil || got != step.want {
			t.Errorf("token %s: %d, want %d; %v", step.token, got, step.want, err)
		}
	}
	if value := client.HGet(t.Context(), "report", "value").Val(); value != "g" {
		t.Errorf("the value is %q", value)
	}
}

func TestRecipe_ForRedisByManyAtATime(t *testing.T) {
	script, client := recipe(t)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() { // waited for below
			for i := range 50 {
				token := 1 + i*8 + n
				if err := script.Run(t.Context(), client, []string{"report"}, token, token).Err(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	got := client.HMGet(t.Context(), "report", "token", "value").Val()
	if len(got) != 2 || got[0] != "400" || got[1] != "400" {
		t.Errorf("token and value are %v, want 400 and 400", got)
	}
}
