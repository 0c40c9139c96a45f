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
	forAll bool // what is not for one election is for all of them
}

// calls numbers the calls of helpers in the process: fx shuffles what it collects, and nodes and middleware have an order.
var calls atomic.Int64

// newCall is called by a helper, of which it notes where it was called.
func newCall(helper string, opts []GroupOption) (call, error) {
	_, file, line, _ := runtime.Caller(2)
	t, err := newTarget(opts...)
	return call{target: t, helper: helper, at: fmt.Sprintf("%s:%d", file, line), number: calls.Add(1)}, err
}

func (c call) String() string { return fmt.Sprintf("%s at %s", c.helper, c.at) }

// known returns an option that fails the application if it does not have the election that the call is for: fx would
// never call what the helper adds, and say nothing.
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
		return fmt.Errorf("redlockfx: %v %s, and there is no %s in the application, which has %s: add it, or name "+
			"one that is there by redlockfx.For", c, which, c.option(), cmp.Or(strings.Join(has, ", "), "no election"))
	}, fx.ParamTags(allElections)))
}

// registered is something that a helper has collected.
type registered[T any] struct {
	call
	value T
}

// inOrder returns what was collected in the order of the calls.
func inOrder[T any](all []registered[T]) []registered[T] {
	return slices.SortedFunc(slices.Values(all), func(a, b registered[T]) int { return cmp.Compare(a.number, b.number) })
}

// shape is a type that the constructors of a helper may return.
type shape struct {
	result  reflect.Type
	provide func(c call, constructor any) fx.Option
}

// collected is the shape of constructors that return a From, of which convert makes one of a kind.
func collected[From, T any](kind string, convert func(From) T) shape {
	return provided(func(t target) string { return t.groupTag(kind) }, func(c call, v From) (registered[T], error) {
		if r := reflect.ValueOf(&v).Elem(); (r.Kind() == reflect.Func || r.Kind() == reflect.Pointer) && r.IsNil() {
			return registered[T]{}, fmt.Errorf("redlockfx: %v: the constructor has returned nil", c)
		}
		return registered[T]{c, convert(v)}, nil
	})
}

// provided is the shape of constructors that return a From, of which convert makes what is provided under a tag. In
// between, fx knows the From by the call as its name, so that its errors say which call they are about; and it gets the
// constructor as it is, so that they say which function that was.
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
		hint = "; give the function itself, and have it take what needs a tag in a parameter object, a struct with fx.In"
	}
	return fx.Error(fmt.Errorf("redlockfx: %v takes a function that returns %s, and maybe an error; this is a %T%s",
		c, strings.Join(results, " or "), constructor, hint))
}

// returns tells whether constructor is a function that returns a result, and maybe an error.
func returns(constructor any, result reflect.Type) bool {
	f := reflect.ValueOf(constructor)
	if f.Kind() != reflect.Func || f.IsNil() {
		return false
	}
	t := f.Type()
	alone, orError := t.NumOut() == 1, t.NumOut() == 2 && t.Out(1) == reflect.TypeFor[error]()
	return (alone || orError) && t.Out(0) == result
}
