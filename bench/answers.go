package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/redlock"
)

// answers is a hook of go-redis that notes when each request was answered.
type answers struct {
	mu sync.Mutex // guards at
	at []time.Time
}

// openSeen is openOurs with a hook that sees all answers. A Locker gives up the hooks of clients that do
// not end their calls with the context.
func openSeen(addrs []string, opts ...redlock.Option) (oursPeer, *answers, error) {
	clients := clientsOf(addrs, func(o *redis.Options) { o.ContextTimeoutEnabled = true })
	seen := &answers{}
	for _, client := range clients {
		client.AddHook(seen)
	}
	p, err := openOurs(clients, opts...)
	return p, seen, err
}

func (a *answers) note() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = append(a.at, time.Now())
}

func (a *answers) sorted() []time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.SortedFunc(slices.Values(a.at), time.Time.Compare)
}

func (a *answers) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a *answers) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		defer a.note()
		return next(ctx, cmd)
	}
}

func (a *answers) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		defer a.note()
		return next(ctx, cmds)
	}
}
