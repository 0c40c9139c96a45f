// Package records knows what the lock keeps on a node. Tests use it to look at that, and to change it as a person with
// redis-cli may. No other test package knows a key.
package records

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Prefix is the key prefix of a Locker.
type Prefix string

// Default is the prefix of a Locker without an option.
const Default Prefix = "redlock"

// SomebodyElse is the value of a holder that is none of the test's.
const SomebodyElse = "1:another:1:someone else"

// Lock is the key of a lock.
func (p Prefix) Lock(name string) string { return "{" + string(p) + "}:lock:" + name }

// Fence is the key of a lock's fence.
func (p Prefix) Fence(name string) string { return "{" + string(p) + "}:fence:" + name }

// Guard is the key of the guard.
func (p Prefix) Guard() string { return "{" + string(p) + "}:guard" }

// Holder returns the value that holds a lock on a node, empty if nothing does.
func (p Prefix) Holder(t testing.TB, name string, node *redis.Client) string {
	t.Helper()
	value, err := node.Get(t.Context(), p.Lock(name)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return value
}

// On counts the nodes that hold a lock.
func (p Prefix) On(t testing.TB, name string, nodes ...*redis.Client) int {
	t.Helper()
	n := 0
	for _, node := range nodes {
		found, err := node.Exists(t.Context(), p.Lock(name)).Result()
		if err != nil {
			t.Fatal(err)
		}
		n += int(found)
	}
	return n
}

// Put makes value the holder of a lock on nodes for ttl, or with zero for good.
func (p Prefix) Put(t testing.TB, name, value string, ttl time.Duration, nodes ...*redis.Client) {
	t.Helper()
	for _, node := range nodes {
		if err := node.Set(t.Context(), p.Lock(name), value, ttl).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// Drop removes a lock from nodes.
func (p Prefix) Drop(t testing.TB, name string, nodes ...*redis.Client) {
	t.Helper()
	for _, node := range nodes {
		if err := node.Del(t.Context(), p.Lock(name)).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// Number returns a node's fencing number for a lock.
func (p Prefix) Number(t testing.TB, name string, node *redis.Client) uint64 {
	t.Helper()
	text, err := node.Get(t.Context(), p.Fence(name)).Result()
	if err != nil {
		t.Fatal(err)
	}
	var number, since uint64
	if _, err := fmt.Sscanf(text, "1:%d:%d", &number, &since); err != nil {
		t.Fatalf("the fence is %q: %v", text, err)
	}
	return number
}

// Guarded reports whether a node has a guard, be it over or not.
func (p Prefix) Guarded(t testing.TB, node *redis.Client) bool {
	t.Helper()
	found, err := node.HExists(t.Context(), p.Guard(), "since").Result()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Age makes a node's guard one that began long ago.
func (p Prefix) Age(t testing.TB, node *redis.Client) {
	t.Helper()
	if err := node.HSet(t.Context(), p.Guard(), "since", 1).Err(); err != nil {
		t.Fatal(err)
	}
}
