package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/redlock"
)

const (
	ttl       = 10 * time.Second // of a lock, unless stated otherwise
	warmUps   = 200              // calls of all peers together, before anything is measured or broken
	waitLimit = 20 * time.Second // limit for failing warm-up calls: new nodes grant nothing for a TTL
)

// peer is one process's way to a lock, or to leadership, with clients of its own.
type peer struct {
	try, wait func(ctx context.Context, name string) (hold, error) // one attempt; attempts until it wins or ctx is done
	close     func(ctx context.Context) error
	locker    *redlock.Locker // nil for another library
	prefix    string          // of the names of its locks
}

// hold is a lock that was won.
type hold interface {
	Release(ctx context.Context) error
}

func (b *bench) lockers(ctx context.Context, n int) []peer {
	return b.open(ctx, n, func(addrs []string) peer { return openLocker(addrs) })
}

// open opens n peers for the row. They have their connections and scripts when it returns.
func (b *bench) open(ctx context.Context, n int, open func(addrs []string) peer) []peer {
	all := make([]peer, n)
	for i := range all {
		all[i] = open(b.cluster.Addrs())
		b.peers = append(b.peers, all[i])
		check(warmUp(ctx, all[i], max(warmUps/n, 2*nodes), nextName))
	}
	return all
}

// warmUp makes calls until the given number have succeeded.
func warmUp(ctx context.Context, p peer, calls int, newName func() string) error {
	deadline := time.Now().Add(waitLimit)
	for calls > 0 {
		err := acquireAndRelease(ctx, p, newName())
		if err == nil {
			calls--
			continue
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return fmt.Errorf("warm-up: %w", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil
}

func acquireAndRelease(ctx context.Context, p peer, name string) error {
	h, err := p.try(ctx, name)
	if err != nil {
		return err
	}
	return h.Release(ctx)
}

var namesUsed atomic.Int64

// nextName returns a name that was never used before.
func nextName() string { return "bench-" + strconv.FormatInt(namesUsed.Add(1), 10) }

func nextNames(n int) (all []string) {
	for range n {
		all = append(all, nextName())
	}
	return all
}

// clientsOf makes one client per node, with the default options of go-redis.
func clientsOf(addrs []string) (clients []redis.UniversalClient) {
	for _, addr := range addrs {
		clients = append(clients, redis.NewClient(&redis.Options{Addr: addr}))
	}
	return clients
}

func closeAll(clients []redis.UniversalClient) (err error) {
	for _, c := range clients {
		err = errors.Join(err, c.Close())
	}
	return err
}

func openLocker(addrs []string, opts ...redlock.Option) peer {
	return lockerOn(clientsOf(addrs), opts...)
}

// lockerOn makes a peer that closes the clients.
func lockerOn(clients []redis.UniversalClient, opts ...redlock.Option) peer {
	locker := must(redlock.New(clients, append(opts, redlock.WithTTL(ttl))...))
	return peer{
		try:    func(ctx context.Context, name string) (hold, error) { return locker.TryAcquire(ctx, name) },
		wait:   func(ctx context.Context, name string) (hold, error) { return locker.Acquire(ctx, name) },
		close:  func(ctx context.Context) error { return errors.Join(locker.Close(ctx), closeAll(clients)) },
		locker: locker,
	}
}

func openRedsync(addrs []string) peer { return redsyncOf(addrs, ttl) }

// redsyncOf makes a peer whose holds are redsyncHold. Its locks have this expiry.
func redsyncOf(addrs []string, expiry time.Duration) peer {
	clients := clientsOf(addrs)
	var pools []redsyncredis.Pool
	for _, c := range clients {
		pools = append(pools, goredis.NewPool(c))
	}
	r := redsync.New(pools...)
	lock := func(call func(*redsync.Mutex, context.Context) error) func(context.Context, string) (hold, error) {
		return func(ctx context.Context, name string) (hold, error) {
			m := r.NewMutex(name, redsync.WithExpiry(expiry))
			return redsyncHold{m}, call(m, ctx)
		}
	}
	return peer{
		try:   lock((*redsync.Mutex).TryLockContext),
		wait:  lock((*redsync.Mutex).LockContext),
		close: func(context.Context) error { return closeAll(clients) },
	}
}

type redsyncHold struct{ *redsync.Mutex }

func (h redsyncHold) Extend(ctx context.Context) error  { return refusal(h.ExtendContext(ctx)) }
func (h redsyncHold) Release(ctx context.Context) error { return refusal(h.UnlockContext(ctx)) }

// refusal returns the error of a call that redsync refused: redsync may refuse without an error, and succeed with one.
func refusal(ok bool, err error) error {
	if ok {
		return nil
	}
	return errors.Join(errors.New("redsync: no quorum"), err)
}
