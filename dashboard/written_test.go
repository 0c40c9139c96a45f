package dashboard_test

import (
	"testing"

	"github.com/redlockfx/redlockfx/dashboard"
	"github.com/redlockfx/redlockfx/internal/testkit/passworded"
	"github.com/redlockfx/redlockfx/internal/testkit/written"
	"github.com/redlockfx/redlockfx/scheduler"
)

func TestEveryType_IsWrittenWithoutThePassword(t *testing.T) {
	e := passworded.Elector(t)
	s, err := scheduler.New(e)
	if err != nil {
		t.Fatal(err)
	}
	written.Without(t, passworded.Password, map[string]any{
		"Handler": dashboard.Handler(e, s), "Option": dashboard.Hosts("a"),
	})
}
