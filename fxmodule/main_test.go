package redlockfx_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/internal/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

func TestMain(m *testing.M) {
	logging.Disable() // go-redis reports each failed dial on its own
	goleak.VerifyTestMain(m)
}

// cluster is three nodes in a bubble of virtual time.
type cluster struct {
	*nodetest.Cluster
	t *testing.T
}

func bubble(t *testing.T, test func(t *testing.T, c *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{nodetest.Start(3), t}
		defer c.Close()
		c.waitForGuards("redlock")
		test(t, c)
	})
}

// waitForGuards has the nodes used for the first time under a key prefix, and waits until they grant.
func (c *cluster) waitForGuards(prefix string) {
	c.t.Helper()
	l, err := redlock.New(c.Links().Clients(), redlock.WithKeyPrefix(prefix))
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := l.TryAcquire(c.t.Context(), "first"); !errors.Is(err, redlock.ErrGuarded) {
		c.t.Fatalf("got %v, want %v", err, redlock.ErrGuarded)
	}
	synctest.Wait() // all nodes, not only a majority
	time.Sleep(l.Settings().MaxTTL)
	if err := l.Close(c.t.Context()); err != nil {
		c.t.Error(err)
	}
}

// nodes are the clients of another process.
func (c *cluster) nodes(opts ...redlockfx.GroupOption) (fx.Option, *nodetest.Links) {
	links := c.Links()
	var all []fx.Option
	for _, client := range links.Clients() {
		all = append(all, redlockfx.Node(func() redis.UniversalClient { return client }, opts...))
	}
	return fx.Options(all...), links
}

// app makes an application of the module and what else is given; it must be valid.
func (c *cluster) app(config redlockfx.Config, opts ...fx.Option) (*fxtest.App, *nodetest.Links) {
	c.t.Helper()
	nodes, links := c.nodes()
	app := fxtest.New(c.t, append([]fx.Option{
		fx.NopLogger, fx.Supply(config), nodes, redlockfx.Module,
	}, opts...)...)
	return app, links
}

// refused is the error of an application that must not start.
func refused(t *testing.T, want []string, opts ...fx.Option) {
	t.Helper()
	app := fx.New(append([]fx.Option{fx.NopLogger}, opts...)...)
	if app.Err() == nil {
		t.Fatal("accepted")
	}
	for _, text := range want {
		if !strings.Contains(app.Err().Error(), text) {
			t.Errorf("got %v\nwant %q in it", app.Err(), text)
		}
	}
}

// ticks counts what ran.
type ticks struct {
	mu   sync.Mutex // guards seen
	seen []time.Time
}

func (k *ticks) job(name string) scheduler.Job {
	return scheduler.Job{Name: name, Spec: "* * * * * *", Run: func(_ context.Context, run scheduler.Run) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.seen = append(k.seen, run.Tick)
		return nil
	}}
}

func (k *ticks) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.seen)
}

func observed() (fx.Option, *observer.ObservedLogs) {
	core, logs := observer.New(zap.InfoLevel)
	return fx.Supply(zap.New(core)), logs
}
