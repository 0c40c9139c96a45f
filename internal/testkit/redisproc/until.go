//go:build unix

package redisproc

import (
	"context"
	"fmt"
	"time"
)

const askEvery = 10 * time.Millisecond

// until calls ask again and again until it returns no error, ctx is done, or gone is closed. It returns
// the last error, with the cause of ctx if ctx ended the wait.
func until(ctx context.Context, gone <-chan struct{}, ask func() error) error {
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-gone:
			return err
		case <-ctx.Done():
			return fmt.Errorf("%w; last answer: %w", context.Cause(ctx), err)
		case <-ticker.C:
		}
	}
}
