package records

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

// Foreign is a value that no version of this library writes, in a place that the library uses.
type Foreign struct {
	Name   string
	Reason string // part of a Locker's error about it
	value  string
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
	{"word", "did not write the record", "mine"},
	{"empty", "did not write the record", ""},
	{"part", "did not write the record", "0000000000000017 00000000"},
	{"letters", "did not write the record", "abcdefghijklmnop abcdefghijklmnop abcdefghijklmnop abc:1:"},
}

// Guards are what may stand in place of the guard.
var Guards = []Foreign{
	{"word", "the hash has layout mine, this version knows 3", "mine"},
	{"earlier", "the hash has layout 1, this version knows 3", "1 0123456789"},
	{"later", "the hash has layout 4, this version knows 3", "4 0123456789"},
}

// Types are what may stand in place of the hash.
var Types = []Foreign{
	{"string", "WRONGTYPE", "a"},
}

// Replace puts a foreign value in a place. The returned function reports whether it is still there, unchanged.
func Replace(t testing.TB, place Place, f Foreign, nodes ...*redis.Client) (untouched func() bool) {
	t.Helper()
	for _, node := range nodes {
		if place.field == "" {
			check(t, node.Set(t.Context(), place.hash, f.value, 0).Err())
		} else {
			check(t, node.HSet(t.Context(), place.hash, place.field, f.value).Err())
		}
	}
	return func() bool {
		for _, node := range nodes {
			value, err := node.HGet(t.Context(), place.hash, place.field).Result()
			if place.field == "" {
				value, err = node.Get(t.Context(), place.hash).Result()
			}
			if err != nil || value != f.value {
				return false
			}
		}
		return true
	}
}
