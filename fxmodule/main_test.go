package redlockfx_test

import (
	"context"
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
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/redlocktest"
	"github.com/redlockfx/redlockfx/scheduler"
)

func TestMain(m *testing.M) {
	logging.Disable() // go-redis reports each failed dial on its own
	goleak.VerifyTestMain(m)
}

// cluster is three nodes in a bubble of virtual time.
type cluster struct {
	*nodetest.Cluster
	t     *testing.T
	nodes *redlocktest.Nodes
}

func bubble(t *testing.T, test func(t *testing.T, c *cluster), opts ...redlock.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		nodes := redlocktest.New(t, 3, opts...)
		test(t, &cluster{nodes.Engine(), t, nodes})
	})
}

// process makes another process and provides its clients.
func (c *cluster) process(opts ...redlockfx.GroupOption) (fx.Option, *redlocktest.Process) {
	c.t.Helper()
	p := c.nodes.Process()
	var all []fx.Option
	for _, client := range p.Clients() {
		all = append(all, redlockfx.Node(func() redis.UniversalClient { return client }, opts...))
	}
	return fx.Options(all...), p
}

// app makes an application of the module and what else is given; it must be valid.
func (c *cluster) app(config redlockfx.Config, opts ...fx.Option) (*fxtest.App, *redlocktest.Process) {
	c.t.Helper()
	clients, process := c.process()
	app := fxtest.New(c.t, append([]fx.Option{
		fx.NopLogger, fx.Supply(config), clients, redlockfx.Module,
	}, opts...)...)
	return app, process
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

// words are what was said on a topic, in order.
type words struct {
	mu  sync.Mutex // guards all
	all map[string][]string
}

func (w *words) add(topic, word string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = make(map[string][]string)
	}
	w.all[topic] = append(w.all[topic], word)
}

func (w *words) of(topic string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all[topic]
}

func observed() (fx.Option, *observer.ObservedLogs) {
	core, logs := observer.New(zap.InfoLevel)
	return fx.Supply(zap.New(core)), logs
}
