package asynqtick_test

import (
	"context"
	"errors"
	"testing"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// queue is asynq on an in-memory Redis, with a client whose answers can be lost.
type queue struct {
	*asynq.Inspector
	links  *nodetest.Links
	client *asynq.Client
	conns  func() asynq.RedisConnOpt // of another process
}

// connections makes clients of a node.
type connections struct{ links *nodetest.Links }

// MakeRedisClient returns a client that tries once, so that the adapter sees each error.
func (c connections) MakeRedisClient() any {
	options := c.links.Options(0)
	options.MaxRetries, options.DialerRetries = -1, 1
	return redis.NewClient(options)
}

func newQueue(t *testing.T) *queue {
	t.Helper()
	node := nodetest.Start(1)
	t.Cleanup(node.Close)
	q := &queue{links: node.Links()}
	q.client = asynq.NewClient(connections{q.links})
	t.Cleanup(func() { must(t, q.client.Close()) })
	q.conns = func() asynq.RedisConnOpt { return connections{node.Links()} }
	q.Inspector = asynq.NewInspector(q.conns())
	t.Cleanup(func() { must(t, q.Inspector.Close()) })
	return q
}

// serve processes the tasks until the end of the test.
func (q *queue) serve(t *testing.T, handle func(ctx context.Context, task *asynq.Task) error) {
	t.Helper()
	server := asynq.NewServer(q.conns(), asynq.Config{
		Concurrency: 4, Queues: map[string]int{"default": 1}, LogLevel: asynq.FatalLevel, TaskCheckInterval: 100e6,
	})
	must(t, server.Start(asynq.HandlerFunc(handle)))
	t.Cleanup(server.Shutdown)
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
