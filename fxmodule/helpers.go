package redlockfx

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// Job adds jobs. constructor is a function that takes its dependencies and returns a scheduler.Job or a
// []scheduler.Job, and maybe an error. It may take the Locker, the Elector and the Scheduler too.
func Job(constructor any, opts ...GroupOption) fx.Option {
	return collect("Job", constructor, opts, of[scheduler.Job], of[[]scheduler.Job])
}

// OnLeader adds a callback, as election.OnLeader does. fn is a func(context.Context), or a function that takes its
// dependencies and returns one, and maybe an error.
func OnLeader(fn any, opts ...GroupOption) fx.Option {
	if f, ok := fn.(func(context.Context)); ok {
		fn = func() func(context.Context) { return f }
	}
	return collect("OnLeader", fn, opts, of[func(context.Context)])
}

// Hooks adds hooks. constructor returns election.Hooks or scheduler.Hooks, and maybe an error. Without [For] they apply
// to all elections in the application. All hooks of an election are called, in no particular order.
func Hooks(constructor any, opts ...GroupOption) fx.Option {
	if len(opts) == 0 {
		opts = []GroupOption{forAll}
	}
	return collect("Hooks", constructor, opts, of[election.Hooks], of[scheduler.Hooks])
}

// Options adds options that a [Config] has no field for, such as middleware, a panic handler or how long fencing numbers are kept.
// constructor returns a []redlock.Option, a []election.Option or a []scheduler.Option, and maybe an error. They are applied in order,
// after those of the Config. Several calls are in no particular order. The Config must be valid without them.
func Options(constructor any, opts ...GroupOption) fx.Option {
	return collect("Options", constructor, opts, of[[]redlock.Option], of[[]election.Option], of[[]scheduler.Option])
}

// Node adds a client for one node, if an address does not say enough: a failover group (Sentinel), a cluster, a dialer of your own,
// or a node of package redlocktest. constructor returns a redis.UniversalClient, and maybe an error. The application must close it,
// after Module has stopped. The clients are in no particular order.
func Node(constructor any, opts ...GroupOption) fx.Option {
	return collect("Node", constructor, opts, of[redis.UniversalClient])
}

// Locker gives an election an existing Locker instead of nodes. constructor returns a *redlock.Locker, and maybe an
// error. Elections that share a Locker share its connections. Whoever makes the Locker configures and closes it. So the
// fields of this election's Config that configure a Locker (Nodes, the TLS fields, KeyPrefix, MaxTTL, NodeTimeout,
// NoRestartGuard, UnseenRestarts) must be empty. To share the Locker of Module:
//
//	redlockfx.Locker(func(l *redlock.Locker) *redlock.Locker { return l }, redlockfx.For("two"))
func Locker(constructor any, opts ...GroupOption) fx.Option {
	return collect("Locker", constructor, opts, of[*redlock.Locker])
}

func of[T any]() reflect.Type { return reflect.TypeFor[T]() }

// collect adds what a constructor returns to the group of an election, if it is of one of the types. Call it in the helper
// itself, whose caller is named in errors.
func collect(helper string, constructor any, opts []GroupOption, types ...func() reflect.Type) fx.Option {
	_, file, line, _ := runtime.Caller(2)
	call := fmt.Sprintf("redlockfx: %s at %s:%d", helper, file, line)
	t, err := newTarget(opts...)
	if err != nil {
		return fx.Error(fmt.Errorf("%s: %w", call, err))
	}
	var results []string
	for _, of := range types {
		if returns(constructor, of()) {
			return fx.Options(t.mustExist(call), fx.Provide(fx.Annotated{Group: t.group(), Target: constructor}))
		}
		results = append(results, of().String())
	}
	return fx.Error(fmt.Errorf("%s takes a function that returns %s, and maybe an error; this is a %T (parameters that need "+
		"a tag go into a struct with fx.In)", call, strings.Join(results, " or "), constructor))
}

// returns reports whether constructor is a function that returns a result, and maybe an error.
func returns(constructor any, result reflect.Type) bool {
	f := reflect.ValueOf(constructor)
	if f.Kind() != reflect.Func || f.IsNil() {
		return false
	}
	t := f.Type()
	alone, orError := t.NumOut() == 1, t.NumOut() == 2 && t.Out(1) == of[error]()
	return (alone || orError) && t.Out(0) == result
}

// mustExist returns an option that fails the application if it lacks the election that the call of a helper is for.
// Otherwise fx would silently ignore what the helper adds.
func (t target) mustExist(call string) fx.Option {
	return fx.Invoke(fx.Annotate(func(elections []*module) error {
		var has []string
		for _, m := range elections {
			if m.target == t || t.all {
				return nil
			}
			has = append(has, m.option())
		}
		slices.Sort(has)
		return fmt.Errorf("%s is for %s, but the application has no %[2]s (it has %s): add it, or name another election with "+
			"redlockfx.For", call, t.option(), cmp.Or(strings.Join(has, ", "), "no election"))
	}, fx.ParamTags(allElections)))
}
