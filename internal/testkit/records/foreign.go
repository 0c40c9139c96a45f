package records

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Foreign is a value that no version of this library writes, in a place that the library uses.
type Foreign struct {
	Name   string
	Reason string // part of a Locker's error about it

	put func(ctx context.Context, node *redis.Client, place Place) error
}

// Place is a place on a node: a field of the hash, or the hash itself.
type Place struct{ hash, field string }

// Record is the place of the record that a node keeps of a lock.
func (p Prefix) Record(name string) Place { return Place{p.Hash(), field(name)} }

// Guard is the place of the guard.
func (p Prefix) Guard() Place { return Place{p.Hash(), guardField} }

// Whole is the place of the hash itself.
func (p Prefix) Whole() Place { return Place{p.Hash(), ""} }

// Records are what may stand in place of a record.
var Records = []Foreign{
	text("word", "mine", "did not write the record"),
	text("empty", "", "did not write the record"),
	text("part", "0000000000000017 00000000", "did not write the record"),
	text("letters", "abcdefghijklmnop abcdefghijklmnop abcdefghijklmnop abc:1:", "did not write the record"),
}

// Guards are what may stand in place of the guard.
var Guards = []Foreign{
	text("word", "mine", "the hash has layout mine, this version knows 2"),
	text("earlier", "1 0123456789", "the hash has layout 1, this version knows 2"),
	text("later", "3 0123456789", "the hash has layout 3, this version knows 2"),
}

// Types are what may stand in place of the hash.
var Types = []Foreign{
	{"string", "WRONGTYPE", func(ctx context.Context, node *redis.Client, place Place) error {
		return node.Set(ctx, place.hash, "a", 0).Err()
	}},
}

func text(name, value, reason string) Foreign {
	return Foreign{name, reason, func(ctx context.Context, node *redis.Client, place Place) error {
		return node.HSet(ctx, place.hash, place.field, value).Err()
	}}
}

// Replace puts a foreign value in a place. The returned function reports whether it is still there, unchanged.
func Replace(t testing.TB, place Place, f Foreign, nodes ...*redis.Client) (untouched func() bool) {
	t.Helper()
	var before []string
	for _, node := range nodes {
		if place.field == "" {
			check(t, node.Del(t.Context(), place.hash).Err())
		}
		check(t, f.put(t.Context(), node, place))
		before = append(before, dump(t, place, node))
	}
	return func() bool {
		for i, node := range nodes {
			if dump(t, place, node) != before[i] {
				return false
			}
		}
		return true
	}
}

// dump returns what a node has in a place, whatever its type.
func dump(t testing.TB, place Place, node *redis.Client) string {
	t.Helper()
	kind, err := node.Type(t.Context(), place.hash).Result()
	check(t, err)
	var value any
	switch kind {
	case "hash":
		value, err = node.HGet(t.Context(), place.hash, place.field).Result()
	case "string":
		value, err = node.Get(t.Context(), place.hash).Result()
	}
	if !errors.Is(err, redis.Nil) {
		check(t, err)
	}
	return fmt.Sprint(kind, value)
}
