package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// lockKey is where package redlock keeps a lock, and the channel on which it tells of a release.
func lockKey(name string) string { return "{redlock}:lock:" + name }

// inside are the commands that only our scripts or those of rueidislock call, or this
// program's own looks at the nodes.
var inside = map[string]bool{
	"get": true, "set": true, "del": true, "pexpire": true, "pexpireat": true, "pttl": true,
	"hmget": true, "hset": true,
	"hget": true, "hgetall": true, "hdel": true, "hkeys": true, "hlen": true,
	"zadd": true, "zrangebylex": true, "zrevrangebyscore": true,
	"time": true, "info": true, "publish": true, "scan": true,
	"pubsub": true, "pubsub|numsub": true, // before Redis 7, and since
}

// command is what a node tells of one since its start.
type command struct{ calls, micros int }

// commands are what node i has done, by the name of the command.
func (b *bench) commands(ctx context.Context, i int) (map[string]command, error) {
	info, err := b.admins[i].Info(ctx, "commandstats").Result()
	if err != nil {
		return nil, fmt.Errorf("commands of node %d: %w", i, err)
	}
	done := make(map[string]command)
	for line := range strings.Lines(info) {
		name, stats, found := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
		if !found {
			continue // the heading
		}
		var c command
		if _, err := fmt.Sscanf(stats, "calls=%d,usec=%d,", &c.calls, &c.micros); err != nil {
			return nil, fmt.Errorf("commands of node %d: %q: %w", i, line, err)
		}
		done[name] = c
	}
	return done, nil
}

// requests is how many commands each node was sent so far by Lockers and by rueidislock; those by
// redsync only if plain names what it sends without a script. It includes whatever opens and keeps
// connections.
func (b *bench) requests(ctx context.Context, plain ...string) ([]int, error) {
	counts := make([]int, nodes)
	for i := range counts {
		done, err := b.commands(ctx, i)
		if err != nil {
			return nil, err
		}
		for name, c := range done {
			if !inside[name] || slices.Contains(plain, name) {
				counts[i] += c.calls
			}
		}
	}
	return counts, nil
}

// requestsDuring is how many requests each node was sent while fn ran.
func (b *bench) requestsDuring(
	ctx context.Context, fn func() error, plain ...string,
) ([]int, error) {
	before, err := b.requests(ctx, plain...)
	if err != nil {
		return nil, err
	}
	if err := fn(); err != nil {
		return nil, err
	}
	after, err := b.requests(ctx, plain...)
	if err != nil {
		return nil, err
	}
	for i := range after {
		after[i] -= before[i]
	}
	return after, nil
}

// sum is over all nodes.
func sum(counts []int) (total int) {
	for _, n := range counts {
		total += n
	}
	return total
}

// scriptTime is how many microseconds all nodes together have spent in scripts.
func (b *bench) scriptTime(ctx context.Context) (micros int, err error) {
	for i := range nodes {
		done, err := b.commands(ctx, i)
		if err != nil {
			return 0, err
		}
		micros += done["evalsha"].micros
	}
	return micros, nil
}

// waiting returns when so many are subscribed to the releases of a lock on every node.
func (b *bench) waiting(ctx context.Context, name string, waiters int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	channel := lockKey(name)
	for _, admin := range b.admins {
		for there := 0; there < waiters; {
			n, err := admin.PubSubNumSub(ctx, channel).Result()
			if err = errors.Join(err, context.Cause(ctx)); err != nil {
				return fmt.Errorf("%d of %d wait for %q: %w", there, waiters, name, err)
			}
			there = int(n[channel])
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// freeAt is when a lock runs out on so many nodes that somebody else can have it; rather early, as the
// answers' ways are not counted.
func (b *bench) freeAt(ctx context.Context, name string) (time.Time, error) {
	ends := make([]time.Time, len(b.admins))
	errs := make([]error, len(b.admins))
	var wg sync.WaitGroup
	for i, admin := range b.admins {
		wg.Go(func() {
			asked := time.Now()
			left, err := admin.PTTL(ctx, lockKey(name)).Result()
			ends[i], errs[i] = asked.Add(max(left, 0)), err
		})
	}
	wg.Wait()
	slices.SortFunc(ends, time.Time.Compare)
	return ends[nodes/2], errors.Join(errs...)
}
