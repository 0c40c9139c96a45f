package fenced_test

import (
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
)

// The script of docs/exactly-once.md, as it is there.
func TestRecipe_ForRedis(t *testing.T) {
	page, err := os.ReadFile("../docs/exactly-once.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```lua\n")
	text, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page has no script")
	}
	script, server := redis.NewScript(text), nodetest.Start(1)
	t.Cleanup(server.Close)
	client := server.Raw()[0]
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
