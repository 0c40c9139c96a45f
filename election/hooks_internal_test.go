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
	for _, h := range c.hooks {
		h.Elected(nil)
		h.Ended(nil, nil)
		h.Drained(nil, 0, false)
		h.Renewed(nil, 0, 0, nil)
		h.Attempt(0, nil)
	}
	for i := range 2 {
		for field := range reflect.TypeFor[Hooks]().Fields() {
			want = append(want, fmt.Sprint(field.Name, " ", i+1))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("called %q, want %q", got, want)
	}
}
