// Package joined checks functions that join structs of hooks.
package joined

import (
	"reflect"
	"slices"
	"testing"
)

// Check fails the test unless join returns correct hooks: each field calls that field of all given hooks, in order and
// with the same arguments, and is nil if none of them sets it. Check tries every field of H, so fields that are added
// later are checked too.
func Check[H any](t *testing.T, join func(...H) H) {
	t.Helper()
	var called []string
	kind := reflect.TypeFor[H]()
	if got := join(); !reflect.ValueOf(got).IsZero() {
		t.Errorf("nothing joined: %+v", got)
	}
	for i := range kind.NumField() {
		field := kind.Field(i)
		args := make([]reflect.Value, field.Type.NumIn())
		for j := range args {
			args[j] = reflect.New(field.Type.In(j)).Elem()
			if args[j].CanInt() {
				args[j].SetInt(int64(j + 1))
			}
		}
		saying := func(word string) (h H) {
			reflect.ValueOf(&h).Elem().Field(i).Set(reflect.MakeFunc(field.Type, func(in []reflect.Value) []reflect.Value {
				called = append(called, word)
				for j := range in {
					if !reflect.DeepEqual(in[j].Interface(), args[j].Interface()) {
						t.Errorf("%s: argument %d is %v, want %v", field.Name, j, in[j], args[j])
					}
				}
				return nil
			}))
			return h
		}
		var empty H
		all := reflect.ValueOf(join(empty, saying("a"), empty, saying("b"), saying("c")))
		called = nil
		for j := range kind.NumField() {
			switch set := !all.Field(j).IsNil(); {
			case set != (i == j):
				t.Errorf("%s is set, and so is %s: %v", field.Name, kind.Field(j).Name, set)
			case set:
				all.Field(j).Call(args)
			}
		}
		if want := []string{"a", "b", "c"}; !slices.Equal(called, want) {
			t.Errorf("%s: called %q, want %q", field.Name, called, want)
		}
	}
}
