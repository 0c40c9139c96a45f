package redlockfx_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/internal/inside"
	"github.com/redlockfx/redlockfx/internal/testkit/bubble"
	"github.com/redlockfx/redlockfx/internal/testkit/nodetest"
	"github.com/redlockfx/redlockfx/internal/testkit/records"
	"github.com/redlockfx/redlockfx/internal/testkit/testmain"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// cluster is three nodes in virtual time.
type cluster struct{ *bubble.Cluster }

// inBubble runs test in a bubble.
func inBubble(t *testing.T, test func(t *testing.T, c *cluster), opts ...redlock.Option) {
	t.Helper()
	bubble.Run(t, 3, func(t *testing.T, nodes *bubble.Cluster) { test(t, &cluster{nodes}) }, opts...)
}

// process makes another process and provides its clients.
func (c *cluster) process(opts ...redlockfx.GroupOption) (fx.Option, *nodetest.Links) {
	links := c.Links()
	var all []fx.Option
	for _, client := range links.Clients() {
		all = append(all, redlockfx.Node(func() redis.UniversalClient { return client }, opts...))
	}
	return fx.Options(all...), links
}

// held counts the nodes that have the lock of election x.
func (c *cluster) held() int {
	c.T.Helper()
	return records.Default.On(c.T, inside.ElectionLock("x"), c.Raw()...)
}

// app makes an application of the module and the given options; it must be valid.
func (c *cluster) app(config redlockfx.Config, opts ...fx.Option) (*fxtest.App, *nodetest.Links) {
	c.T.Helper()
	clients, links := c.process()
	app := fxtest.New(c.T, append([]fx.Option{
		fx.NopLogger, fx.Supply(config), clients, redlockfx.Module,
	}, opts...)...)
	return app, links
}

// refused returns the error of an application that must not start.
func refused(t *testing.T, parts []string, opts ...fx.Option) {
	t.Helper()
	app := fx.New(append([]fx.Option{fx.NopLogger}, opts...)...)
	if app.Err() == nil {
		t.Fatal("accepted")
	}
	want.Text(t, app.Err(), parts...)
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
