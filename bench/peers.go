package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/redlock"
)

const (
	ttl      = 10 * time.Second // of a lock, where nothing else is said
	warmUps  = 200              // calls of all peers together, before anything is measured or broken
	patience = 20 * time.Second // with calls that fail meanwhile
	pause    = 50 * time.Millisecond
	closing  = 20 * time.Second // of all peers together, each time
)

// peer is one of the two libraries.
type peer interface {
	// acquire makes one attempt.
	acquire(ctx context.Context, name string) (hold, error)
	close(ctx context.Context) error
}

// waiter is a peer that can wait for a lock.
type waiter interface {
	peer
	wait(ctx context.Context, name string) (hold, error)
}

// hold is a lock that was won.
type hold interface {
	Extend(ctx context.Context) error
	Release(ctx context.Context) error
}

// sides are both peers on the same nodes.
type sides struct{ ours, redsync waiter }

// withSides runs fn with two new peers that have connected to all nodes, and closes them.
func withSides(ctx context.Context, addrs []string, fn func(sides) error) error {
	ours, err := openOurs(clientsOf(addrs))
	if err != nil {
		return err
	}
	s := sides{ours: ours, redsync: openRedsync(addrs)}
	return withPeers(ctx, []peer{s.ours, s.redsync}, func() error { return fn(s) })
}

// withLockers runs fn with n new Lockers that have connected to all nodes, each with clients of its
// own as if it were another process, and closes them.
func withLockers(ctx context.Context, addrs []string, n int, fn func([]oursPeer) error) error {
	var all []oursPeer
	var peers []peer
	for range n {
		ours, err := openOurs(clientsOf(addrs))
		if err != nil {
			return err
		}
		all, peers = append(all, ours), append(peers, ours)
	}
	return withPeers(ctx, peers, func() error { return fn(all) })
}

// withPeers warms the peers up, runs fn and closes them.
func withPeers(ctx context.Context, peers []peer, fn func() error) (err error) {
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
		defer cancel()
		for _, p := range peers {
			err = errors.Join(err, p.close(ctx))
		}
	}()
	for _, p := range peers {
		if err := warmUp(ctx, p, max(warmUps/len(peers), 2*nodes)); err != nil {
			return err
		}
	}
	return fn()
}

// warmUp opens connections and loads scripts. Calls may fail for a while: nodes that have just
// started need not grant anything yet.
func warmUp(ctx context.Context, p peer, calls int) error {
	deadline := time.Now().Add(patience)
	for done := 0; done < calls; {
		err := acquireAndRelease(ctx, p)
		if err == nil {
			done++
			continue
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return fmt.Errorf("warm-up: %w", err)
		}
		time.Sleep(pause)
	}
	return nil
}

func acquireAndRelease(ctx context.Context, p peer) error {
	h, err := p.acquire(ctx, nextName())
	if err != nil {
		return err
	}
	return h.Release(ctx)
}

// clientsOf makes one client a node, with the default options of go-redis but for the changes.
func clientsOf(addrs []string, changes ...func(*redis.Options)) (clients []redis.UniversalClient) {
	for _, addr := range addrs {
		options := &redis.Options{Addr: addr}
		for _, change := range changes {
			change(options)
		}
		clients = append(clients, redis.NewClient(options))
	}
	return clients
}

func closeAll(clients []redis.UniversalClient) error {
	var errs []error
	for _, c := range clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

type oursPeer struct {
	locker  *redlock.Locker
	clients []redis.UniversalClient
}

func openOurs(clients []redis.UniversalClient, opts ...redlock.Option) (oursPeer, error) {
	locker, err := redlock.New(clients, append(opts, redlock.WithTTL(ttl))...)
	if err != nil {
		return oursPeer{}, errors.Join(err, closeAll(clients))
	}
	return oursPeer{locker, clients}, nil
}

func (p oursPeer) acquire(ctx context.Context, name string) (hold, error) {
	return p.locker.TryAcquire(ctx, name)
}

func (p oursPeer) wait(ctx context.Context, name string) (hold, error) {
	return p.locker.Acquire(ctx, name)
}

func (p oursPeer) close(ctx context.Context) error {
	return errors.Join(p.locker.Close(ctx), closeAll(p.clients))
}

type redsyncPeer struct {
	redsync *redsync.Redsync
	clients []redis.UniversalClient
}

func openRedsync(addrs []string) redsyncPeer {
	clients := clientsOf(addrs)
	var pools []redsyncredis.Pool
	for _, c := range clients {
		pools = append(pools, goredis.NewPool(c))
	}
	return redsyncPeer{redsync.New(pools...), clients}
}

func (p redsyncPeer) acquire(ctx context.Context, name string) (hold, error) {
	m := p.redsync.NewMutex(name, redsync.WithExpiry(ttl))
	err := m.TryLockContext(ctx)
	return redsyncHold{m}, errorOf(err == nil, err)
}

func (p redsyncPeer) wait(ctx context.Context, name string) (hold, error) {
	m := p.redsync.NewMutex(name, redsync.WithExpiry(ttl))
	err := m.LockContext(ctx)
	return redsyncHold{m}, errorOf(err == nil, err)
}

func (p redsyncPeer) close(context.Context) error { return closeAll(p.clients) }

type redsyncHold struct{ *redsync.Mutex }

func (h redsyncHold) Extend(ctx context.Context) error {
	ok, err := h.ExtendContext(ctx)
	return errorOf(ok, err)
}

func (h redsyncHold) Release(ctx context.Context) error {
	ok, err := h.UnlockContext(ctx)
	return errorOf(ok, err)
}

// errorOf reads redsync's answers: it may say no without an error, and yes with one.
func errorOf(ok bool, err error) error {
	switch {
	case ok:
		return nil
	case err == nil:
		return errors.New("redsync: no quorum")
	default:
		return fmt.Errorf("redsync: %w", err)
	}
}
