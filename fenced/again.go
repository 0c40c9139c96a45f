package fenced

import (
	"context"
	"fmt"

	"github.com/redlockfx/redlockfx/internal/retry"
)

// again calls do until it succeeds, at most the given number of times. It retries only if the database asks for that,
// as after a deadlock.
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
