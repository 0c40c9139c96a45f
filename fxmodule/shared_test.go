package redlockfx_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"

	"github.com/redlockfx/redlockfx/election"
	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

var two = redlockfx.For("two")

func settings(config redlockfx.Config) fx.Option {
	return fx.Supply(fx.Annotate(config, fx.ResultTags(`name:"two"`)))
}

func modulesLocker() fx.Option {
	return redlockfx.Locker(func(l *redlock.Locker) *redlock.Locker { return l }, two)
}

func TestLocker_IsSharedByTwoElections(t *testing.T) {
	inBubble(t, func(t *testing.T, c *cluster) {
		var in struct {
			fx.In
			One    *redlock.Locker
			Two    *redlock.Locker   `name:"two"`
			Second *election.Elector `name:"two"`
		}
		k := &ticks{}
		app, _ := c.app(redlockfx.Config{Name: "one"}, redlockfx.Named("two"), settings(redlockfx.Config{
			Name: "two", TTL: 5 * time.Second,
		}), modulesLocker(),
			redlockfx.Job(func() scheduler.Job { return k.job("a") }),
			redlockfx.Job(func() scheduler.Job { return k.job("b") }, two), fx.Populate(&in))
		app.RequireStart()
		time.Sleep(4500 * time.Millisecond)
		if in.One != in.Two || in.Second.Settings().TTL != 5*time.Second || k.count() != 8 {
			t.Errorf("one locker %v, settings %+v, %d runs", in.One == in.Two, in.Second.Settings(), k.count())
		}
		app.RequireStop()
	})
}

// The application closes a Locker that it has made.
func TestLocker_IsClosedByWhoMadeIt(t *testing.T) {
	inBubble(t, func(t *testing.T, c *cluster) {
		l, _ := c.Locker()
		app := fx.New(fx.NopLogger, redlockfx.Module, fx.Supply(redlockfx.Config{Name: "x"}),
			redlockfx.Locker(func() *redlock.Locker { return l }),
			redlockfx.OnLeader(func(ctx context.Context) { <-ctx.Done() }))
		want.NoError(t, app.Start(t.Context()))
		time.Sleep(time.Second)
		want.NoError(t, app.Stop(t.Context()))
		if err := l.Do(t.Context(), "y", func(context.Context, *redlock.Lease) error { return nil }); err != nil {
			t.Error(err)
		}
	})
}

func TestLocker_RefusesWhatItDecidesItself(t *testing.T) {
	const leave = `redlockfx.Named("two") gets 1 Lockers`
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	base := fx.Options(redlockfx.Module, given, redlockfx.Named("two"), modulesLocker())
	valid := settings(redlockfx.Config{Name: "two"})
	for name, test := range map[string]struct {
		opt  fx.Option
		want []string
	}{
		"addresses":    {settings(redlockfx.Config{Name: "two", Nodes: []string{"a:1"}}), []string{leave, "Config.Nodes"}},
		"a key prefix": {settings(redlockfx.Config{Name: "two", KeyPrefix: "p"}), []string{leave, "KeyPrefix"}},
		"no guard":     {settings(redlockfx.Config{Name: "two", NoRestartGuard: true}), []string{leave, "NoRestartGuard"}},
		"no files":     {settings(redlockfx.Config{Name: "two", TLSCAFile: "none"}), []string{leave, "TLS"}},
		"nodes": {fx.Options(valid, redlockfx.Node(func() redis.UniversalClient { return client }, two)),
			[]string{leave, "redlockfx.Node"}},
		"options": {fx.Options(valid, redlockfx.Options(func() []redlock.Option { return []redlock.Option{redlock.WithFenceRetention(time.Hour)} }, two)),
			[]string{leave, "options of package redlock"}},
		"another locker": {fx.Options(valid, modulesLocker()), []string{"gets 2 Lockers"}},
		"a ttl above its own": {settings(redlockfx.Config{Name: "two", TTL: time.Hour}),
			[]string{"ttl 1h0m0s must not be above the locker's max ttl 10s"}},
	} {
		t.Run(name, func(t *testing.T) { refused(t, test.want, base, test.opt) })
	}
}
