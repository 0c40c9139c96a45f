// Package records knows what the lock keeps on a node. Tests use it to look at that, and to change it as a person with
// redis-cli may. No other test knows how a lock is kept.
package records

import (
	"errors"
	"fmt"
	"strings"
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

// Other returns the value of one more such holder, who is not SomebodyElse.
func Other(who string) string { return "1:" + who + ":1:someone else" }

// Text returns the text that redlock.WithValue gave to the holder whose value this is.
func Text(value string) string {
	parts := strings.SplitN(value, ":", 4)
	return parts[len(parts)-1]
}

// Lock is the key of a lock.
func (p Prefix) Lock(name string) string { return "{" + string(p) + "}:lock:" + name }

// Fence is the key of a lock's fence.
func (p Prefix) Fence(name string) string { return "{" + string(p) + "}:fence:" + name }

// Guard is the key of the guard.
func (p Prefix) Guard() string { return "{" + string(p) + "}:guard" }

// Holder returns the value that holds a lock on a node, empty if nothing does.
func (p Prefix) Holder(t testing.TB, name string, node *redis.Client) string {
	t.Helper()
	return get(t, p.Lock(name), node)
}

// Left returns how long a lock will last on a node: below zero if for good, or if nothing holds it.
func (p Prefix) Left(t testing.TB, name string, node *redis.Client) time.Duration {
	t.Helper()
	left, err := node.PTTL(t.Context(), p.Lock(name)).Result()
	check(t, err)
	return left
}

// On counts the nodes that hold a lock.
func (p Prefix) On(t testing.TB, name string, nodes ...*redis.Client) int {
	t.Helper()
	n := 0
	for _, node := range nodes {
		found, err := node.Exists(t.Context(), p.Lock(name)).Result()
		check(t, err)
		n += int(found)
	}
	return n
}

// Put makes value the holder of a lock on nodes for ttl, or with zero for good.
func (p Prefix) Put(t testing.TB, name, value string, ttl time.Duration, nodes ...*redis.Client) {
	t.Helper()
	for _, node := range nodes {
		check(t, node.Set(t.Context(), p.Lock(name), value, ttl).Err())
	}
}

// Drop removes a lock from nodes.
func (p Prefix) Drop(t testing.TB, name string, nodes ...*redis.Client) {
	t.Helper()
	for _, node := range nodes {
		check(t, node.Del(t.Context(), p.Lock(name)).Err())
	}
}

// Shorten lets a lock end on nodes after ttl.
func (p Prefix) Shorten(t testing.TB, name string, ttl time.Duration, nodes ...*redis.Client) {
	t.Helper()
	for _, node := range nodes {
		check(t, node.PExpire(t.Context(), p.Lock(name), ttl).Err())
	}
}

// Number returns a node's fencing number for a lock.
func (p Prefix) Number(t testing.TB, name string, node *redis.Client) uint64 {
	t.Helper()
	text := get(t, p.Fence(name), node)
	var number, since uint64
	if _, err := fmt.Sscanf(text, "1:%d:%d", &number, &since); err != nil {
		t.Fatalf("the fence is %q: %v", text, err)
	}
	return number
}

// SetNumber makes number a node's fencing number for a lock, as if it had counted so far since its guard began.
func (p Prefix) SetNumber(t testing.TB, name string, number uint64, node *redis.Client) {
	t.Helper()
	since, err := node.HGet(t.Context(), p.Guard(), "since").Result()
	check(t, err)
	check(t, node.Set(t.Context(), p.Fence(name), fmt.Sprintf("1:%d:%s", number, since), 0).Err())
}

// NumberLeft returns how long a node's fencing number for a lock will last: below zero if there is none.
func (p Prefix) NumberLeft(t testing.TB, name string, node *redis.Client) time.Duration {
	t.Helper()
	left, err := node.PTTL(t.Context(), p.Fence(name)).Result()
	check(t, err)
	return left
}

// Guarded reports whether a node has a guard, be it over or not.
func (p Prefix) Guarded(t testing.TB, node *redis.Client) bool {
	t.Helper()
	found, err := node.HExists(t.Context(), p.Guard(), "since").Result()
	check(t, err)
	return found
}

// Age makes a node's guard one that began long ago.
func (p Prefix) Age(t testing.TB, node *redis.Client) {
	t.Helper()
	check(t, node.HSet(t.Context(), p.Guard(), "since", 1).Err())
}

// Sets returns the value that a command, within a script too, makes the holder of a lock; empty if it does not.
func (p Prefix) Sets(name, command string, args ...string) string {
	if command == "SET" && args[0] == p.Lock(name) {
		return args[1]
	}
	return ""
}

// Counts reports whether a command, within a script too, writes the fencing number of a lock.
func (p Prefix) Counts(name, command string, args ...string) bool {
	return command == "SET" && args[0] == p.Fence(name)
}

// get returns the text at a key, empty if there is none.
func get(t testing.TB, key string, node *redis.Client) string {
	t.Helper()
	text, err := node.Get(t.Context(), key).Result()
	if !errors.Is(err, redis.Nil) {
		check(t, err)
	}
	return text
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
