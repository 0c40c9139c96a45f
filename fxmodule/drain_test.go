package redlockfx_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	redlockfx "github.com/redlockfx/redlockfx/fxmodule"
)

// lasting returns a callback that takes d to stop, and reports its end.
func lasting(d time.Duration, ended chan<- error, opts ...redlockfx.GroupOption) fx.Option {
	return redlockfx.OnLeader(func(ctx context.Context) {
		<-ctx.Done()
		term := time.NewTimer(d)
		defer term.Stop()
		<-term.C
		ended <- context.Cause(ctx)
	}, opts...)
}

// fx stops one component after the other, within one timeout for all of them.
func TestStop_ElectionsDrainAtTheSameTime(t *testing.T) {
	inBubble(t, func(t *testing.T, c *cluster) {
		ended := make(chan error, 2)
		clients, _ := c.process(two)
		app, _ := c.app(redlockfx.Config{Name: "x"}, redlockfx.Named("two"), clients,
			settings(redlockfx.Config{Name: "other"}),
			lasting(8*time.Second, ended), lasting(8*time.Second, ended, two), fx.StopTimeout(15*time.Second))
		app.RequireStart()
		time.Sleep(time.Second)
		began := time.Now()
		app.RequireStop()
		if took := time.Since(began).Truncate(time.Second); took != 8*time.Second || len(ended) != 2 {
			t.Errorf("took %v, %d callbacks returned", took, len(ended))
		}
	})
}

// If the inequality in the package documentation holds, the drain is never cut short.
func TestStop_GrantsTheDrainTimeoutWhereTheInequalityHolds(t *testing.T) {
	for _, ttl := range []time.Duration{time.Second, time.Minute} {
		t.Run(ttl.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, c *cluster) {
				const drain = 20 * time.Second
				margin, node := ttl/5, min(max(ttl/50, 20*time.Millisecond), 200*time.Millisecond)
				ended := make(chan error, 1)
				clients, _ := c.process()
				app := fxtest.New(t, fx.NopLogger, redlockfx.Module, clients,
					fx.Supply(redlockfx.Config{Name: "x", TTL: ttl, DrainTimeout: drain}),
					lasting(drain-time.Millisecond, ended))
				app.RequireStart()
				time.Sleep(ttl)
				ctx, cancel := context.WithTimeout(t.Context(), drain+margin+4*node+time.Second)
				defer cancel()
				began := time.Now()
				if err := app.App.Stop(ctx); err != nil || len(ended) != 1 {
					t.Errorf("after %v: %v, %d callbacks returned", time.Since(began), err, len(ended))
				}
			})
		})
	}
}
