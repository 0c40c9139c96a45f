package leadercron_test

import (
	"testing"

	"github.com/robfig/cron/v3"

	"github.com/redlockfx/redlockfx/adapters/leadercron"
	"github.com/redlockfx/redlockfx/internal/testkit/passworded"
	"github.com/redlockfx/redlockfx/internal/testkit/written"
)

func TestWhatIsMade_IsWrittenWithoutThePassword(t *testing.T) {
	e := passworded.Elector(t)
	wrapper := leadercron.OnLeader(e)
	written.Without(t, passworded.Password, map[string]any{"OnLeader": wrapper, "its job": wrapper(cron.FuncJob(func() {}))})
}
