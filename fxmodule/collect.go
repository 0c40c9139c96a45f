package redlockfx

import (
	"cmp"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"go.uber.org/fx"
)

// call is one call of a helper.
type call struct {
	target
	helper string
	at     string // file:line
	number int64
	forAll bool // a call without For is for all elections
}

// calls numbers the calls of helpers in the process. Nodes and middleware need the order, because fx shuffles what it
// collects.
var calls atomic.Int64

// newCall records where a helper was called. The helper must call it directly.
func newCall(helper string, opts []GroupOption) (call, error) {
	_, file, line, _ := runtime.Caller(2)
	t, err := newTarget(opts...)
	return call{target: t, helper: helper, at: fmt.Sprintf("%s:%d", file, line), number: calls.Add(1)}, err
}

func (c call) String() string { return fmt.Sprintf("%s at %s", c.helper, c.at) }

// known returns an option that fails the application if it lacks the election that the call is for. Otherwise fx
// would silently never call what the helper adds.
func (c call) known() fx.Option {
	return fx.Invoke(fx.Annotate(func(elections []*module) error {
		var has []string
		for _, m := range elections {
			if m.target == c.target || c.forAll && c.name == "" {
				return nil
			}
			has = append(has, m.option())
		}
		slices.Sort(has)
		which := fmt.Sprintf("is For(%q)", c.name)
		if c.name == "" {
			which = "is for redlockfx.Module"
		}
		return fmt.Errorf("redlockfx: %v %s, but the application has no %s (it has %s): add it, or name "+
			"another election with redlockfx.For", c, which, c.option(), cmp.Or(strings.Join(has, ", "), "no election"))
	}, fx.ParamTags(allElections)))
}

// registered is a value that a helper has collected.
type registered[T any] struct {
	call
	value T
}

// inOrder returns the collected values in the order of the calls.
func inOrder[T any](all []registered[T]) []registered[T] {
	return slices.SortedFunc(slices.Values(all), func(a, b registered[T]) int { return cmp.Compare(a.number, b.number) })
}

// shape describes a type that the constructors of a helper may return.
type shape struct {
	result  reflect.Type
	provide func(c call, constructor any) fx.Option
}

// collected is the shape of constructors that return a From, which convert turns into a value for a group.
func collected[From, T any](kind string, convert func(From) T) shape {
	return provided(func(t target) string { return t.groupTag(kind) }, func(c call, v From) (registered[T], error) {
		if r := reflect.ValueOf(&v).Elem(); (r.Kind() == reflect.Func || r.Kind() == reflect.Pointer) && r.IsNil() {
			return registered[T]{}, fmt.Errorf("redlockfx: %v: the constructor has returned nil", c)
		}
		return registered[T]{c, convert(v)}, nil
	})
}

// provided is the shape of constructors that return a From, which convert turns into a value with a tag. fx gets the
// unchanged constructor, and the From is named after the call, so that errors of fx name the function and the call.
func provided[From, To any](tag func(target) string, convert func(call, From) (To, error)) shape {
	return shape{reflect.TypeFor[From](), func(c call, constructor any) fx.Option {
		name := fmt.Sprintf("redlockfx.%v, call %d", c, c.number)
		return fx.Provide(
			fx.Annotated{Name: name, Target: constructor},
			fx.Annotate(func(v From) (To, error) { return convert(c, v) },
				fx.ParamTags(fmt.Sprintf("name:%q", name)), fx.ResultTags(tag(c.target))),
		)
	}}
}

// collect provides what a constructor of one of the shapes returns.
func (c call) collect(constructor any, shapes ...shape) fx.Option {
	for _, s := range shapes {
		if returns(constructor, s.result) {
			return fx.Options(c.known(), s.provide(c, constructor))
		}
	}
	var results []string
	for _, s := range shapes {
		results = append(results, s.result.String())
	}
	hint := ""
	if strings.EqualFold(fmt.Sprintf("%T", constructor), "fx.annotated") {
		hint = "; pass the function itself, and put parameters that need a tag into a parameter object (a struct with fx.In)"
	}
	return fx.Error(fmt.Errorf("redlockfx: %v takes a function that returns %s, and maybe an error; this is a %T%s",
		c, strings.Join(results, " or "), constructor, hint))
}

// returns reports whether constructor is a function that returns a result, and maybe an error.
func returns(constructor any, result reflect.Type) bool {
	f := reflect.ValueOf(constructor)
	if f.Kind() != reflect.Func || f.IsNil() {
		return false
	}
	t := f.Type()
	alone, orError := t.NumOut() == 1, t.NumOut() == 2 && t.Out(1) == reflect.TypeFor[error]()
	return (alone || orError) && t.Out(0) == result
}
