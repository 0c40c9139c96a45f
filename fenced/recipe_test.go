package fenced_test

import (
	"os"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// The script of the page, as it is there.
func TestRecipe_ForRedis(t *testing.T) {
	page, err := os.ReadFile("../docs/exactly-once.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```lua\n")
	script, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page has no script")
	}
	client := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	defer client.Close()
	for _, step := range []struct {
		token, value string
		want         int
	}{
		{"1795313814812500", "a", 1}, {"1795313814812500", "b", 1}, {"1795313814812499", "c", 0}, {"999", "d", 0},
		{"9007199254740993", "e", 1}, {"9007199254740992", "f", 0}, {"10000000000000000", "g", 1}, {"9007199254740993", "h", 0},
	} {
		got, err := client.Eval(t.Context(), script, []string{"report"}, step.token, step.value).Int()
		if err != nil || got != step.want {
			t.Errorf("token %s: %d, want %d; %v", step.token, got, step.want, err)
		}
	}
	if value := client.HGet(t.Context(), "report", "value").Val(); value != "g" {
		t.Errorf("the value is %q", value)
	}
}
