//go:build unix

package asynqtick_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/redlockfx/redlockfx/internal/testkit/redisproc"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// queue is asynq on a real redis-server, with a client whose next answers can be lost.
type queue struct {
	*asynq.Inspector
	node   *redisproc.Node
	client *asynq.Client
	lossy  *lossy
}

func newQueue(t *testing.T) *queue {
	t.Helper()
	cluster, err := redisproc.Start(t.Context(), 1)
	must(t, err)
	t.Cleanup(func() { must(t, cluster.Close()) })
	q := &queue{node: cluster.Node(0), lossy: &lossy{}}
	conns := redis.NewClient(&redis.Options{
		Addr: q.node.Addr(), Dialer: q.lossy.dial, MaxRetries: -1, DialerRetries: 1, // the adapter sees each error
	})
	t.Cleanup(func() { must(t, conns.Close()) })
	q.client = asynq.NewClientFromRedisClient(conns)
	q.Inspector = asynq.NewInspector(asynq.RedisClientOpt{Addr: q.node.Addr()})
	t.Cleanup(func() { must(t, q.Inspector.Close()) })
	return q
}

// serve processes the tasks until the end of the test.
func (q *queue) serve(t *testing.T, handle func(ctx context.Context, task *asynq.Task) error) {
	t.Helper()
	server := asynq.NewServer(asynq.RedisClientOpt{Addr: q.node.Addr()}, asynq.Config{
		Concurrency: 4, Queues: map[string]int{"default": 1}, Logger: silent{}, TaskCheckInterval: 100e6,
	})
	must(t, server.Start(asynq.HandlerFunc(handle)))
	t.Cleanup(server.Shutdown)
}

// silent is a logger for asynq that logs nothing.
type silent struct{}

func (silent) Debug(...any) {}
func (silent) Info(...any)  {}
func (silent) Warn(...any)  {}
func (silent) Error(...any) {}
func (silent) Fatal(args ...any) {
	panic(fmt.Sprint(args...))
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
