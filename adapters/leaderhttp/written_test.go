package leaderhttp_test

import (
	"testing"

	"github.com/redlockfx/redlockfx/adapters/leaderhttp"
	"github.com/redlockfx/redlockfx/internal/testkit/passworded"
	"github.com/redlockfx/redlockfx/internal/testkit/written"
)

func TestEveryType_IsWrittenWithoutThePassword(t *testing.T) {
	e := passworded.Elector(t)
	written.Without(t, passworded.Password, map[string]any{
		"Proxy": leaderhttp.Proxy(e, anywhere)(answering("a")), "Redirect": leaderhttp.Redirect(e, anywhere)(answering("a")),
		"Option": leaderhttp.WithGateway("A"),
	})
}
