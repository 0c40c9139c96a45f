package redlock

import (
	"context"
	"errors"
	"fmt"
)

// Ready waits until a majority of nodes grants locks, and then returns nil. Nodes that were never used, or have restarted, grant
// nothing for the longest TTL: see [ErrGuarded]. If ctx is done first, the error says what each node waits for, or answers. Ready
// gives up at once where [Locker.Acquire] does.
//
// It acquires and releases a lock of a name that nobody else uses.
func (l *Locker) Ready(ctx context.Context) error {
	lease, err := l.Acquire(ctx, "ready:"+newContenderID())
	if q, ok := errors.AsType[*QuorumError](err); ok && ctx.Err() != nil { // without what Acquire says about its wait
		return fmt.Errorf("redlock: not ready: %w: %w", context.Cause(ctx), q)
	}
	if err != nil {
		return fmt.Errorf("redlock: not ready: %w", err)
	}
	_ = lease.Release(ctx) // if that fails it expires
	return nil
}
