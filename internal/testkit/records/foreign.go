package records

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Foreign is something that no version of this library writes, at a key that the lock uses.
type Foreign struct {
	Name   string
	Reason string // part of what a Locker says where it has the place of a lock or a fence

	put func(ctx context.Context, node *redis.Client, key string) error
}

// The simplest ones.
var (
	List = Foreign{"list", "WRONGTYPE", func(ctx context.Context, node *redis.Client, key string) error {
		return node.RPush(ctx, key, "a", "b").Err()
	}}
	Word = text("word", "mine", "")
)

// Foreigns are all kinds.
var Foreigns = []Foreign{
	List,
	{"set", "WRONGTYPE", func(ctx context.Context, node *redis.Client, key string) error {
		return node.SAdd(ctx, key, "a", "b").Err()
	}},
	Word,
	text("empty", "", ""),
	text("part", "1:abc", ""),
	text("no-number", "1:abc:x:", ""),
	text("later", "2:17:x:y", `layout "2", this version knows "1"`),
}

func text(name, value, reason string) Foreign {
	return Foreign{name, reason, func(ctx context.Context, node *redis.Client, key string) error {
		return node.Set(ctx, key, value, 0).Err()
	}}
}

// Replace puts something foreign at the key of a lock, of a fence or of the guard. The returned func reports whether
// it is still there, untouched.
func Replace(t testing.TB, key string, f Foreign, nodes ...*redis.Client) (untouched func() bool) {
	t.Helper()
	var before []string
	for _, node := range nodes {
		check(t, errors.Join(node.Del(t.Context(), key).Err(), f.put(t.Context(), node, key)))
		before = append(before, dump(t, key, node))
	}
	return func() bool {
		for i, node := range nodes {
			if dump(t, key, node) != before[i] {
				return false
			}
		}
		return true
	}
}

// dump returns what a node has at a key, of whatever type.
func dump(t testing.TB, key string, node *redis.Client) string {
	t.Helper()
	kind, err := node.Type(t.Context(), key).Result()
	check(t, err)
	left, err := node.PTTL(t.Context(), key).Result()
	check(t, err)
	var value any
	switch kind {
	case "string":
		value, err = node.Get(t.Context(), key).Result()
	case "list":
		value, err = node.LRange(t.Context(), key, 0, -1).Result()
	case "set":
		value, err = node.SCard(t.Context(), key).Result()
	}
	check(t, err)
	return fmt.Sprint(kind, value, left)
}
