//go:build unix

package redisproc

import (
	"context"
	"fmt"
	"time"
)

const askEvery = 10 * time.Millisecond

// until asks again and again until the answer is no error, ctx is done, or what is asked is gone.
// It returns the last answer, with the cause of ctx if that ended it.
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
