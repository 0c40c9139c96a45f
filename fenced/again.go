package fenced

import (
	"context"
	"fmt"

	"github.com/redlockfx/redlockfx/internal/retry"
)

// again calls do until it succeeds, at most that many times, while the database asks for it: after a deadlock, for example.
func (d *DB) again(ctx context.Context, times int, do func() error) error {
	for n := 1; ; n++ {
		err := do()
		if err == nil || n == times || d.dialect.classify(err) != transient {
			return err
		}
		if ended := retry.Sleep(ctx, pauses.After(n)); ended != nil {
			return fmt.Errorf("%w: %w", ended, err)
		}
	}
}
