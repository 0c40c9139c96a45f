package fencehttp_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/adapters/fencehttp"
	"github.com/redlockfx/redlockfx/internal/testkit/passworded"
	"github.com/redlockfx/redlockfx/internal/testkit/written"
)

func TestWhatIsMade_IsWrittenWithoutThePassword(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", Password: passworded.Password, MaxRetries: -1, DialerRetries: 1})
	store := fencehttp.Redis(client)
	_, err := store.Raise(t.Context(), "ledger", 7)
	written.Without(t, passworded.Password, map[string]any{
		"Store": store, "error": err, "Check": fencehttp.Check(store, byPath)(&counter{}), "Option": fencehttp.WithMaxBody(5),
	})
	if err := client.Close(); err != nil {
		t.Error(err)
	}
}
