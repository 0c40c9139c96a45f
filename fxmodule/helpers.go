package redlockfx

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"

	"github.com/redlockfx/redlockfx/election"
	"github.com/redlockfx/redlockfx/redlock"
	"github.com/redlockfx/redlockfx/scheduler"
)

// GroupOption says which election a helper is for.
type GroupOption func(*target)

// For is the election that [Named] was given this name.
func For(name string) GroupOption { return func(t *target) { t.name = name } }

// target is the election that something belongs to; "" is Module's.
type target struct{ name string }

var nameRule = regexp.MustCompile(`^[A-Za-z0-9_-]{0,64}$`)

func newTarget(opts []GroupOption) (target, error) {
	var t target
	for _, opt := range opts {
		opt(&t)
	}
	if !nameRule.MatchString(t.name) {
		return t, fmt.Errorf("redlockfx: the name %q of an election in the app must be 1 to 64 "+
			"letters, digits, '_' or '-'", t.name)
	}
	return t, nil
}

// nameTag marks single values, groupTag collected ones.
func (t target) nameTag() string {
	if t.name == "" {
		return ""
	}
	return fmt.Sprintf("name:%q", t.name)
}

func (t target) groupTag(kind string) string {
	if t.name == "" {
		return fmt.Sprintf(`group:"redlockfx_%s"`, kind)
	}
	return fmt.Sprintf(`group:"redlockfx_%s_%s"`, kind, t.name)
}

// present says that the application has an election of that name.
type present struct{}

// known refuses what a helper adds for an election that the application has not: fx would say nothing, and
// never call it.
func (t target) known(at, helper string) fx.Option {
	if t.name == "" {
		return fx.Options()
	}
	return fx.Invoke(fx.Annotate(func(p *present) error {
		if p == nil {
			return fmt.Errorf("redlockfx: %s at %s is For(%q), and there is no redlockfx.Named(%q) in the application",
				helper, at, t.name, t.name)
		}
		return nil
	}, fx.ParamTags(optional(t.nameTag()))))
}

// registered is something from a helper, with where the helper was called: fx loses the names of
// constructors in its errors. order is that of the calls: fx's own is random.
type registered[T any] struct {
	value T
	at    string
	order int64
}

var calls atomic.Int64 // of helpers

func inOrder[T any](all []registered[T]) []registered[T] {
	return slices.SortedFunc(slices.Values(all), func(a, b registered[T]) int { return cmp.Compare(a.order, b.order) })
}

// Job adds jobs: constructor is a function of whatever it depends on that returns a scheduler.Job or
// a []scheduler.Job, and maybe an error.
func Job(constructor any, opts ...GroupOption) fx.Option {
	one, many := reflect.TypeFor[scheduler.Job](), reflect.TypeFor[[]scheduler.Job]()
	return collect("jobs", constructor, caller(), "Job", opts, func(v reflect.Value) []scheduler.Job {
		if v.Type() == one {
			return []scheduler.Job{v.Interface().(scheduler.Job)}
		}
		return v.Interface().([]scheduler.Job)
	}, one, many)
}

// OnLeader adds a callback as election.OnLeader does: fn is a func(context.Context), or a function of
// whatever it depends on that returns one, and maybe an error.
func OnLeader(fn any, opts ...GroupOption) fx.Option {
	if f, ok := fn.(func(context.Context)); ok {
		fn = func() func(context.Context) { return f }
	}
	return collect("callbacks", fn, caller(), "OnLeader", opts, as[func(context.Context)],
		reflect.TypeFor[func(context.Context)]())
}

// Middleware adds what wraps the Run of every job, as scheduler.WithMiddleware does: constructor is a function of
// whatever it depends on that returns a scheduler.Middleware, and maybe an error. The one that is added first is the
// outermost.
func Middleware(constructor any, opts ...GroupOption) fx.Option {
	return collect("middleware", constructor, caller(), "Middleware", opts, as[scheduler.Middleware],
		reflect.TypeFor[scheduler.Middleware]())
}

func as[T any](v reflect.Value) T { return v.Interface().(T) }

// collect provides what a helper's constructor returns, as one of those of its kind.
func collect[T any](
	kind string, constructor any, at, helper string, opts []GroupOption, convert func(reflect.Value) T,
	results ...reflect.Type,
) fx.Option {
	t, err := newTarget(opts)
	if err != nil {
		return fx.Error(err)
	}
	wrapped, err := wrap(constructor, at, helper, convert, results...)
	if err != nil {
		return fx.Error(err)
	}
	return fx.Options(t.known(at, helper), fx.Provide(fx.Annotate(wrapped, fx.ResultTags(t.groupTag(kind)))))
}

// Hooks provides the hooks of one election: constructor returns redlock.Hooks, election.Hooks or scheduler.Hooks, and
// maybe an error. What is provided without [For], or by fx.Provide, all elections in the application have that have
// none of their own.
func Hooks(constructor any, opts ...GroupOption) fx.Option {
	at := caller()
	if err := returns(constructor, at, "Hooks", reflect.TypeFor[redlock.Hooks](),
		reflect.TypeFor[election.Hooks](), reflect.TypeFor[scheduler.Hooks]()); err != nil {
		return fx.Error(err)
	}
	t, err := newTarget(opts)
	if err != nil {
		return fx.Error(err)
	}
	return fx.Options(t.known(at, "Hooks"), provide(constructor, opts))
}

// Node adds a client for one node: constructor returns a *redis.Client, a *redis.ClusterClient or a
// redis.UniversalClient, and maybe an error. The application closes it, after Module has stopped.
func Node(constructor any, opts ...GroupOption) fx.Option {
	t, err := newTarget(opts)
	if err != nil {
		return fx.Error(err)
	}
	return fx.Provide(fx.Annotate(constructor,
		fx.As(new(redis.UniversalClient)), fx.ResultTags(t.groupTag("nodes"))))
}

// Settings provides the Config: constructor returns one, and maybe an error. For Module, fx.Supply
// or fx.Provide of a Config do as well.
func Settings(constructor any, opts ...GroupOption) fx.Option { return provide(constructor, opts) }

func provide(constructor any, opts []GroupOption) fx.Option {
	t, err := newTarget(opts)
	if err != nil {
		return fx.Error(err)
	}
	if t.name == "" {
		return fx.Provide(constructor)
	}
	return fx.Provide(fx.Annotate(constructor, fx.ResultTags(t.nameTag())))
}

// caller is where the function that calls it was called.
func caller() string {
	_, file, line, _ := runtime.Caller(2)
	return fmt.Sprintf("%s:%d", file, line)
}

var errorType = reflect.TypeFor[error]()

// wrap makes a constructor with the same parameters that returns a registered T.
func wrap[T any](
	constructor any, at, helper string, convert func(reflect.Value) T, results ...reflect.Type,
) (any, error) {
	if err := returns(constructor, at, helper, results...); err != nil {
		return nil, err
	}
	f, order := reflect.ValueOf(constructor), calls.Add(1)
	ft := f.Type()
	in := make([]reflect.Type, ft.NumIn())
	for i := range in {
		in[i] = ft.In(i)
	}
	out := []reflect.Type{reflect.TypeFor[registered[T]](), errorType}
	return reflect.MakeFunc(reflect.FuncOf(in, out, false), func(args []reflect.Value) []reflect.Value {
		got := f.Call(args)
		problem := reflect.Zero(errorType)
		if len(got) == 2 && !got[1].IsNil() {
			err := fmt.Errorf("redlockfx: %s at %s: %w", helper, at, got[1].Interface().(error))
			problem = reflect.ValueOf(&err).Elem()
		}
		return []reflect.Value{reflect.ValueOf(registered[T]{convert(got[0]), at, order}), problem}
	}).Interface(), nil
}

// returns tells what is wrong with a constructor that should return one of the results, and maybe an error.
func returns(constructor any, at, helper string, results ...reflect.Type) error {
	if f := reflect.ValueOf(constructor); f.Kind() == reflect.Func && !f.IsNil() {
		t := f.Type()
		one, orError := t.NumOut() == 1, t.NumOut() == 2 && t.Out(1) == errorType
		if (one || orError) && !t.IsVariadic() && slices.Contains(results, t.Out(0)) {
			return nil
		}
	}
	return fmt.Errorf("redlockfx: %s at %s takes a function that returns %v, and maybe an error; this is a %T",
		helper, at, results, constructor)
}
