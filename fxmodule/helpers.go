package redlockfx

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

func itself[T any](v T) T { return v }

func alone[T any](v T) []T { return []T{v} }

// Job adds jobs. constructor is a function that takes its dependencies and returns a scheduler.Job or a
// []scheduler.Job, and maybe an error. It may take the Locker, the Elector and the Scheduler too.
func Job(constructor any, opts ...GroupOption) fx.Option {
	c, err := newCall("Job", opts)
	if err != nil {
		return fx.Error(err)
	}
	return c.collect(constructor,
		collected("jobs", alone[scheduler.Job]), collected("jobs", itself[[]scheduler.Job]))
}

// OnLeader adds a callback, as election.OnLeader does. fn is a func(context.Context), or a function that takes its
// dependencies and returns one, and maybe an error.
func OnLeader(fn any, opts ...GroupOption) fx.Option {
	c, err := newCall("OnLeader", opts)
	if err != nil {
		return fx.Error(err)
	}
	if f, ok := fn.(func(context.Context)); ok {
		fn = func() func(context.Context) { return f }
	}
	return c.collect(fn, collected("callbacks", itself[func(context.Context)]))
}

// Middleware wraps the Run of every job, as scheduler.WithMiddleware does. Each argument is either a [For] or a
// function that takes its dependencies and returns a scheduler.Middleware, and maybe an error. The first is the
// outermost. Middleware of an earlier call is outside that of a later one.
func Middleware(constructors ...any) fx.Option {
	var opts []GroupOption
	var wraps []any
	for _, given := range constructors {
		if opt, ok := given.(GroupOption); ok {
			opts = append(opts, opt)
			continue
		}
		wraps = append(wraps, given)
	}
	c, err := newCall("Middleware", opts)
	if err == nil && len(wraps) == 0 {
		err = fmt.Errorf("redlockfx: %v has no constructor", c)
	}
	if err != nil {
		return fx.Error(err)
	}
	var all []fx.Option
	for _, constructor := range wraps {
		all = append(all, c.collect(constructor, collected("middleware", itself[scheduler.Middleware])))
		c.number = calls.Add(1)
	}
	return fx.Options(all...)
}

// Hooks adds hooks. constructor returns election.Hooks or scheduler.Hooks, and maybe an error. Without
// [For] they apply to all elections in the application, like Hooks that the application provides without a helper. All
// hooks of an election are called: first those without a helper, then those of all elections, then the election's own,
// each in the order of the calls.
func Hooks(constructor any, opts ...GroupOption) fx.Option {
	c, err := newCall("Hooks", opts)
	if err != nil {
		return fx.Error(err)
	}
	c.forAll = true
	return c.collect(constructor,
		collected("hooks", itself[election.Hooks]), collected("hooks", itself[scheduler.Hooks]))
}

// Node adds a client for one node. constructor returns a *redis.Client, a *redis.ClusterClient or a
// redis.UniversalClient, and maybe an error. The application must close it, after Module has stopped. The nodes are
// in the order of the calls.
func Node(constructor any, opts ...GroupOption) fx.Option {
	c, err := newCall("Node", opts)
	if err != nil {
		return fx.Error(err)
	}
	return c.collect(constructor,
		collected("nodes", func(r *redis.Client) redis.UniversalClient { return r }),
		collected("nodes", func(r *redis.ClusterClient) redis.UniversalClient { return r }),
		collected("nodes", itself[redis.UniversalClient]))
}

// Locker gives an election an existing Locker instead of nodes. constructor returns a *redlock.Locker, and maybe an
// error. Elections that share a Locker share its connections. Whoever makes the Locker configures and closes it. So the
// fields of this election's Config that configure a Locker (Nodes, the TLS fields, KeyPrefix, MaxTTL, NodeTimeout,
// NoRestartGuard, UnseenRestarts) must be empty. To share the Locker of Module:
//
//	redlockfx.Locker(func(l *redlock.Locker) *redlock.Locker { return l }, redlockfx.For("two"))
func Locker(constructor any, opts ...GroupOption) fx.Option {
	c, err := newCall("Locker", opts)
	if err != nil {
		return fx.Error(err)
	}
	return c.collect(constructor, collected("lockers", itself[*redlock.Locker]))
}

// Options adds options that a [Config] has no field for. constructor returns a redlock.Option, an election.Option, a
// scheduler.Option or a slice of one of them, and maybe an error. They are applied after those of the Config, in the
// order of the calls. So WithHooks adds hooks after those of the helpers, and WithLogger replaces the application's logger.
// The Config must be valid without them.
func Options(constructor any, opts ...GroupOption) fx.Option {
	c, err := newCall("Options", opts)
	if err != nil {
		return fx.Error(err)
	}
	return c.collect(constructor,
		collected("options", alone[redlock.Option]), collected("options", itself[[]redlock.Option]),
		collected("options", alone[election.Option]), collected("options", itself[[]election.Option]),
		collected("options", alone[scheduler.Option]), collected("options", itself[[]scheduler.Option]))
}

// Settings provides the Config. constructor returns one, and maybe an error. For Module, you can also use fx.Supply
// or fx.Provide.
func Settings(constructor any, opts ...GroupOption) fx.Option {
	c, err := newCall("Settings", opts)
	if err != nil {
		return fx.Error(err)
	}
	return c.collect(constructor, provided(target.nameTag, func(_ call, config Config) (Config, error) { return config, nil }))
}
