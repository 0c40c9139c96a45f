package scheduler

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"
)

func TestWithHooks_CallsAllInOrder(t *testing.T) {
	var got, want []string
	var s Scheduler
	for i := range 3 {
		h := Hooks{}
		for j := range reflect.TypeOf(h).NumField() * min(i, 1) { // the first ones are nil
			field := reflect.ValueOf(&h).Elem().Field(j)
			name := fmt.Sprint(reflect.TypeOf(h).Field(j).Name, " ", i)
			field.Set(reflect.MakeFunc(field.Type(), func([]reflect.Value) []reflect.Value {
				got = append(got, name)
				return nil
			}))
		}
		WithHooks(h)(&s.options)
	}
	s.hooks.started(Run{})
	s.hooks.finished(Record{})
	s.hooks.overrun(Run{})
	s.hooks.retrying(Run{}, nil)
	s.hooks.panicked(Run{}, &panicError{})
	s.hooks.unclaimed("x", time.Time{}, nil)
	s.hooks.fenced(1, 2)
	s.hooks.dataLost("x")
	s.hooks.changed(Change{})
	s.hooks.missed("x", 1, "")
	s.hooks.clockSkew(0)
	for field := range reflect.TypeFor[Hooks]().Fields() {
		want = append(want, field.Name+" 1", field.Name+" 2")
	}
	if !slices.Equal(got, want) {
		t.Errorf("called %q, want %q", got, want)
	}
}
