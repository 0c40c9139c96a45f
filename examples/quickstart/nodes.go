package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
)

// connector returns the clients of one more replica, one for each node.
type connector func() []redis.UniversalClient

// nodes are the Redis servers through which the replicas agree.
type nodes struct {
	connect connector
	close   func() error
}

// openNodes uses the Redis servers at the URLs, separated by commas, or starts five embedded ones if there are none.
func openNodes(ctx context.Context, out *log.Logger, urls string, config redlockfx.Config) (nodes, error) {
	if urls == "" {
		out.Println("They elect a leader through five Redis nodes in this process.\n" +
			"To use your own Redis, set REDIS_URL.")
		embedded, err := redlocktest.Start(5, redlock.WithKeyPrefix(config.KeyPrefix),
			redlock.WithTTL(config.TTL), redlock.WithNodeTimeout(config.NodeTimeout))
		if err != nil {
			return nodes{}, err
		}
		return nodes{
			connect: func() []redis.UniversalClient { return embedded.Process().Clients() },
			close:   func() error { embedded.Close(); return nil },
		}, nil
	}

	var servers []*redis.Options
	for url := range strings.SplitSeq(urls, ",") {
		server, err := redlock.ClientOptions(url)
		if err != nil {
			return nodes{}, err
		}
		servers = append(servers, server)
	}
	connect := func() (all []redis.UniversalClient) {
		for _, server := range servers {
			all = append(all, redis.NewClient(server))
		}
		return all
	}
	own := connect()
	for _, client := range own {
		if err := client.Ping(ctx).Err(); err != nil {
			return nodes{}, fmt.Errorf("no Redis at REDIS_URL: %w", err)
		}
	}
	out.Printf("They elect a leader through the Redis at REDIS_URL (nodes: %d).\n"+
		"All keys begin with %s, and are removed at the end.\n\n", len(own), config.KeyPrefix)
	out.Printf("Nobody can lead for the first %v: a Redis without these keys may have lost them\n"+
		"in a restart. So it waits until any lease that it may have granted has expired.", config.TTL)
	return nodes{connect: connect, close: func() error { return removeKeys(own, config.KeyPrefix) }}, nil
}

// removeKeys deletes the keys of the replicas, and closes the clients.
func removeKeys(clients []redis.UniversalClient, prefix string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var problems []error
	for _, client := range clients {
		keys := client.Scan(ctx, 0, "{"+prefix+"}*", 1000).Iterator()
		for keys.Next(ctx) {
			problems = append(problems, client.Del(ctx, keys.Val()).Err())
		}
		problems = append(problems, keys.Err(), client.Close())
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("failed to remove the keys with prefix %s: %w", prefix, err)
	}
	return nil
}
