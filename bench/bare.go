package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// A bare lock is the least that a lock can be: on each node a key that exists while the lock is held. A script sets it,
// and another one deletes it and tells those who wait. It guards against nothing. What it costs on the same nodes is the
// floor that the figures of a real lock stand beside. Like a lock, it is sent to all nodes at once.
var (
	bareAcquire = redis.NewScript(`return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0`)
	bareRelease = redis.NewScript(`redis.call('DEL', KEYS[1]) return redis.call('PUBLISH', KEYS[1], '')`)
)

// barePrefix begins the names of bare locks.
const barePrefix = "bare:"

type bareLock struct{ clients []redis.UniversalClient }

func openBare(addrs []string) peer {
	b := bareLock{clientsOf(addrs)}
	return peer{try: b.try, wait: b.wait, close: func(context.Context) error { return closeAll(b.clients) }}
}

func (b bareLock) try(ctx context.Context, name string) (hold, error) {
	err := each(nodes, nodes, func(i int) error { return b.take(ctx, name, i) })
	return b.held(name), err
}

func (b bareLock) take(ctx context.Context, name string, node int) error {
	got, err := bareAcquire.Run(ctx, b.clients[node], []string{name}, name, ttl.Milliseconds()).Int()
	if err == nil && got == 0 {
		err = errors.New("a bare lock is held")
	}
	return err
}

func (b bareLock) held(name string) hold {
	return holdFunc(func(ctx context.Context) error {
		return each(nodes, nodes, func(i int) error { return bareRelease.Run(ctx, b.clients[i], []string{name}).Err() })
	})
}

// wait waits for a release, and asks each node as soon as it hears from it. Nobody else may wait.
func (b bareLock) wait(ctx context.Context, name string) (hold, error) {
	released := make([]*redis.PubSub, nodes)
	for i, client := range b.clients {
		released[i] = client.Subscribe(ctx, name)
		defer released[i].Close() // ends the goroutine below
		if _, err := released[i].Receive(ctx); err != nil {
			return nil, err
		}
	}
	taken := make(chan error, nodes)
	for i := range nodes {
		go func() {
			_, err := released[i].ReceiveMessage(ctx)
			if err == nil {
				err = b.take(ctx, name, i)
			}
			taken <- err
		}()
	}
	for range nodes/2 + 1 {
		err, late := receive(ctx, taken)
		if err := errors.Join(err, late); err != nil {
			return nil, err
		}
	}
	return b.held(name), nil
}

// bareWaiting waits until somebody waits for a bare lock.
func (b *bench) bareWaiting(ctx context.Context, name string, waiters int) error {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	for _, admin := range b.admins {
		for there := int64(0); there < int64(waiters); time.Sleep(time.Millisecond) {
			listening, err := admin.PubSubNumSub(ctx, name).Result()
			if there = listening[name]; err != nil {
				return fmt.Errorf("%d of %d waiters for %q: %w", there, waiters, name, err)
			}
		}
	}
	return nil
}
