package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/testkit/passworded"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/internal/testkit/written"
	"github.com/redlockfx/redlockfx/scheduler"
)

func TestEveryType_IsWrittenWithoutThePassword(t *testing.T) {
	e := passworded.Elector(t)
	s, err := scheduler.New(e)
	want.NoError(t, err)
	job := scheduler.Job{Name: "job", Spec: "@daily", Run: func(context.Context, scheduler.Run) error { return nil }}
	want.NoError(t, s.Add(job))
	all, err := s.Jobs(t.Context())
	want.NoError(t, err)
	written.Without(t, passworded.Password, map[string]any{
		"Scheduler": s, "Job": job, "Status": all, "Option": scheduler.WithLocation(time.UTC), "Run": scheduler.Run{},
		"Record": scheduler.Record{}, "Change": scheduler.Change{}, "Hooks": scheduler.Hooks{}, "CatchUp": scheduler.CatchUpAll(time.Hour),
		"error": s.Add(job), "unknown": s.Pause(t.Context(), "unknown"),
	})
}
