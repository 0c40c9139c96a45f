package election

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
)

func TestWithHooks_CallsAllInOrder(t *testing.T) {
	var got, want []string
	var c config
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
		WithHooks(h)(&c)
	}
	c.hooks.elected(nil)
	c.hooks.ended(nil, nil)
	c.hooks.drained(nil, 0, false)
	c.hooks.renewed(nil, renewal{})
	c.hooks.attempt(0, nil)
	c.hooks.problem(Problem{})
	for field := range reflect.TypeFor[Hooks]().Fields() {
		want = append(want, field.Name+" 1", field.Name+" 2")
	}
	if !slices.Equal(got, want) {
		t.Errorf("called %q, want %q", got, want)
	}
}
