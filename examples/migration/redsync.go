package migration

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/redlock"
)

// redsyncNewBefore makes the one Redsync that a process needs for all its locks.
func redsyncNewBefore(nodes []redis.UniversalClient) *redsync.Redsync {
	var pools []redsyncredis.Pool
	for _, node := range nodes {
		pools = append(pools, goredis.NewPool(node))
	}
	return redsync.New(pools...)
}

// redsyncNewAfter makes the one Locker that a process needs; its caller closes it before the clients.
func redsyncNewAfter(nodes []redis.UniversalClient) (*redlock.Locker, error) {
	return redlock.New(nodes, redlock.WithTTL(30*time.Second))
}

// redsyncBefore waits for the lock, works, and gives the lock back.
func redsyncBefore(ctx context.Context, locks *redsync.Redsync, work func(context.Context) error) error {
	mutex := locks.NewMutex("import", redsync.WithExpiry(30*time.Second))
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	err := work(ctx) // for 30 s at most, unless something calls Extend meanwhile
	_, failed := mutex.UnlockContext(context.WithoutCancel(ctx))
	return errors.Join(err, failed)
}

// redsyncAfter waits for the lock, works while Do extends it, and gives it back.
func redsyncAfter(ctx context.Context, locker *redlock.Locker, work func(context.Context) error) error {
	return locker.Do(ctx, "import", func(ctx context.Context, lease *redlock.Lease) error {
		return work(ctx) // ctx ends before another process can have the lock; lease.Token() is for the resource
	})
}

// redsyncBetween takes both locks, so it excludes replicas of the release before it and of the release after it.
func redsyncBetween(
	ctx context.Context, old *redsync.Redsync, locker *redlock.Locker, work func(context.Context) error,
) error {
	return redsyncBefore(ctx, old, func(ctx context.Context) error { return redsyncAfter(ctx, locker, work) })
}
