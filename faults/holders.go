package main

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncpool "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
)

const name = "leader"

// leadRedlockfx leads an election of this library.
func leadRedlockfx(ctx context.Context, r *replica) error {
	locker, err := redlock.Open(r.Addrs)
	if err != nil {
		return err
	}
	elector, err := election.New(locker, name, election.OnLeader(r.hold))
	if err != nil {
		return err
	}
	err = elector.Run(ctx)
	return errors.Join(err, locker.Close(context.WithoutCancel(ctx)))
}

func (r *replica) redsync() *redsync.Redsync {
	var pools []redsyncpool.Pool
	for _, client := range r.clients() {
		pools = append(pools, goredis.NewPool(client))
	}
	return redsync.New(pools...)
}

// redsyncTTL is the default of redsync.
const redsyncTTL = 8 * time.Second

func holdRedsync(ctx context.Context, r *replica) error {
	holdWithRedsync(ctx, r.redsync(), r.hold)
	return nil
}

// holdWithRedsync takes a lock of redsync again and again, and calls work while it has it.
func holdWithRedsync(ctx context.Context, locks *redsync.Redsync, work func(context.Context)) {
	for ctx.Err() == nil {
		lock := locks.NewMutex(name)
		if lock.LockContext(ctx) != nil {
			continue // it has tried for a while
		}
		extend := func(ctx context.Context) error {
			ok, err := lock.ExtendContext(ctx)
			if err == nil && !ok {
				err = redsync.ErrExtendFailed
			}
			return err
		}
		renewed(ctx, redsyncTTL/3, lock.Until, extend, work)
		_, _ = lock.UnlockContext(context.WithoutCancel(ctx)) // an error means that it has expired, or will
	}
}

// redislockTTL is the user's choice: redislock has no default.
const redislockTTL = 10 * time.Second

func holdRedislock(ctx context.Context, r *replica) error {
	locks := redislock.New(r.clients()[0])
	for ctx.Err() == nil {
		asked := time.Now()
		lock, err := locks.Obtain(ctx, name, redislockTTL, nil)
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		extend := func(ctx context.Context) error {
			again := time.Now()
			err := lock.Refresh(ctx, redislockTTL, nil)
			if err == nil {
				asked = again
			}
			return err
		}
		renewed(ctx, redislockTTL/3, func() time.Time { return asked.Add(redislockTTL) }, extend, r.hold)
		_ = lock.Release(context.WithoutCancel(ctx)) // an error means that it has expired, or will
	}
	return nil
}

func holdRueidislock(ctx context.Context, r *replica) error {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: r.Addrs}, KeyMajority: 1, NoLoopTracking: true,
	})
	if err != nil {
		return err
	}
	defer locker.Close()
	for ctx.Err() == nil {
		wait, give := context.WithCancel(context.WithoutCancel(ctx)) // a lock ends with the context that it was taken with
		stop := context.AfterFunc(ctx, give)
		held, release, err := locker.WithContext(wait, name)
		if stop(); err != nil {
			give()
			continue
		}
		work, cancel := context.WithCancel(held)
		stop = context.AfterFunc(ctx, cancel)
		r.hold(work)
		stop()
		cancel()
		release()
		give()
	}
	return nil
}
