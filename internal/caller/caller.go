// Package caller tells a method which function of the application it is called from: a job's Run, a callback of a leader, the
// function of a Do. A method that would wait until that function returns must not wait.
package caller

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrSelf says that a method does not wait, because it would wait for the function that it is called from.
var ErrSelf = errors.New("it would wait for itself")

// place is a function of the application that this library has called.
type place struct {
	kind, name string // for people: the run of "nightly"
	owners     []any  // what the function is a part of
	outer      *place // that it was called from, or nil
}

type key struct{}

// With returns a context for a function of the application, which kind and name describe to people. The function is a part of its
// owners, such as a lease: they are not over before it has returned.
func With(ctx context.Context, kind, name string, owners ...any) context.Context {
	outer, _ := ctx.Value(key{}).(*place)
	return context.WithValue(ctx, key{}, &place{kind, name, owners, outer})
}

// Where returns nil if a call with this context may wait for the owners that awaited accepts. If the call comes from a function of
// such an owner, or from one that was called from there, it returns an [ErrSelf] that names the function.
func Where(ctx context.Context, awaited func(owner any) bool) error {
	innermost, _ := ctx.Value(key{}).(*place)
	for p := innermost; p != nil; p = p.outer {
		if slices.ContainsFunc(p.owners, awaited) {
			return fmt.Errorf("called from %s %q: %w", innermost.kind, innermost.name, ErrSelf)
		}
	}
	return nil
}
