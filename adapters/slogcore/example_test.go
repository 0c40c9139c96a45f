package slogcore_test

import (
	"log/slog"
	"os"

	"go.uber.org/zap"

	"github.com/redlockfx/redlockfx/adapters/slogcore"
)

func Example() {
	handler := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{} // the time differs in each run
			}
			return a
		},
	})
	logger := zap.New(slogcore.New(handler)) // for election.WithLogger and scheduler.WithLogger
	logger.Warn("run failed", zap.String("job", "invoices"), zap.Int("attempt", 2))
	// Output: level=WARN msg="run failed" job=invoices attempt=2
}
