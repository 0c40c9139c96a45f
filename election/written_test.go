package election_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/internal/testkit/passworded"
	"github.com/redlockfx/redlockfx/internal/testkit/written"
)

func TestEveryType_IsWrittenWithoutThePassword(t *testing.T) {
	values := map[string]any{"Option": election.WithTTL(time.Second), "PanicError": &election.PanicError{Value: 1}, "Hooks": election.Hooks{}}
	e := passworded.Elector(t, election.WithLogger(zap.NewNop()))
	ctx, stop := context.WithCancel(t.Context())
	e.OnLeader(func(ctx context.Context) {
		defer stop()
		leader, err := e.Leader(ctx)
		if err != nil {
			t.Error(err)
		}
		values["Leader"] = leader // not Term, whose timers still change
	})
	if err := e.Run(ctx); err != nil {
		t.Fatal(err)
	}
	// Not e: what the end of its term started may go on after Run.
	values["Elector"], values["Settings"] = passworded.Elector(t), e.Settings()
	_, values["refusal"] = election.New(e.Locker(), "x", election.WithTTL(-1))
	written.Without(t, passworded.Password, values)
}
