// Package records knows what the library keeps on a node. Tests use it to read that, and to change it as a person with
// redis-cli could. No other test package knows a key, a field or a format.
package records

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Prefix is the key prefix of a Locker.
type Prefix string

// Default is the prefix of a Locker without an option.
const Default Prefix = "redlock"

// SomebodyElse is the value of a holder that does not belong to the test.
const SomebodyElse = "another:1:someone else"

// Other returns the value of another such holder, different from SomebodyElse.
func Other(who string) string { return who + ":1:someone else" }

// Text returns the part of a holder's value that came from redlock.WithValue.
func Text(value string) string {
	parts := strings.SplitN(value, ":", 3)
	return parts[len(parts)-1]
}

// forGood is a deadline that no clock reaches. [Prefix.Left] returns at least ForGood for such a lock.
const (
	forGood = 9_000_000_000_000_000
	ForGood = 365 * 24 * time.Hour
)

// Hash is the key of all that a node keeps for locks.
func (p Prefix) Hash() string { return "{" + string(p) + "}" }

// Channel is the channel on which a node publishes news of a lock.
func (p Prefix) Channel(name string) string { return p.Hash() + ":" + field(name) }

const guardField = "g"

func field(name string) string { return "n:" + name }

// record is what a node keeps of one lock.
type record struct {
	number   uint64
	since    string // when the guard under which the number was counted began
	deadline int64  // by the node's clock, in microseconds since 1970
	value    string
}

func (r record) String() string {
	return fmt.Sprintf("%016d %s %016d %s", r.number, r.since, r.deadline, r.value)
}

// isHeldAt reports whether there is a holder at an instant of the node's clock.
func (r record) isHeldAt(now int64) bool { return r.value != "" && now < r.deadline }

// read returns the record that a node keeps of a lock, or false if there is none.
func (p Prefix) read(t testing.TB, name string, node *redis.Client) (r record, ok bool) {
	t.Helper()
	text := p.get(t, field(name), node)
	if text == "" {
		return record{since: "0000000000000000"}, false
	}
	r, err := parse(text)
	check(t, err)
	return r, true
}

func parse(text string) (r record, err error) {
	if len(text) < 51 {
		return r, fmt.Errorf("the record is %q", text)
	}
	r.since, r.value = text[17:33], text[51:]
	_, err = fmt.Sscanf(text[:16]+text[33:50], "%d %d", &r.number, &r.deadline)
	return r, err
}

func (p Prefix) write(t testing.TB, name string, r record, node *redis.Client) {
	t.Helper()
	check(t, node.HSet(t.Context(), p.Hash(), field(name), r.String()).Err())
}

// Holder returns the value of a lock's holder on a node, or "" if nobody holds it.
func (p Prefix) Holder(t testing.TB, name string, node *redis.Client) string {
	t.Helper()
	if r, _ := p.read(t, name, node); r.isHeldAt(now(t, node)) {
		return r.value
	}
	return ""
}

// Left returns how long a lock will last on a node: more than a year if it does not expire, zero if nobody holds it.
func (p Prefix) Left(t testing.TB, name string, node *redis.Client) time.Duration {
	t.Helper()
	left, err := p.LeftOn(t.Context(), name, node)
	check(t, err)
	return left
}

// LeftOn is Left for programs that are not tests.
func (p Prefix) LeftOn(ctx context.Context, name string, node redis.Cmdable) (time.Duration, error) {
	text, err := node.HGet(ctx, p.Hash(), field(name)).Result()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	clock, err2 := node.Time(ctx).Result()
	if err := errors.Join(err, err2); err != nil {
		return 0, err
	}
	r, err := parse(text)
	if err != nil || !r.isHeldAt(clock.UnixMicro()) {
		return 0, err
	}
	return time.Duration(min(r.deadline-clock.UnixMicro(), 1<<53)) * time.Microsecond, nil
}

// On counts the nodes that hold a lock.
func (p Prefix) On(t testing.TB, name string, nodes ...*redis.Client) int {
	t.Helper()
	n := 0
	for _, node := range nodes {
		if p.Holder(t, name, node) != "" {
			n++
		}
	}
	return n
}

// Put makes value the holder of a lock on nodes for ttl, or without an end if ttl is zero.
func (p Prefix) Put(t testing.TB, name, value string, ttl time.Duration, nodes ...*redis.Client) {
	t.Helper()
	for _, node := range nodes {
		r, _ := p.read(t, name, node)
		r.value, r.deadline = value, forGood
		if ttl > 0 {
			r.deadline = now(t, node) + ttl.Microseconds()
		}
		p.write(t, name, r, node)
	}
}

// Hold makes SomebodyElse the holder of a lock for ttl. It is for programs that are not tests.
func (p Prefix) Hold(ctx context.Context, node redis.Cmdable, name string, ttl time.Duration) {
	r := record{since: strings.Repeat("0", 16), value: SomebodyElse, deadline: time.Now().Add(ttl).UnixMicro()}
	node.HSet(ctx, p.Hash(), field(name), r.String())
}

// Drop removes a lock from nodes, but keeps their fencing numbers for it.
func (p Prefix) Drop(t testing.TB, name string, nodes ...*redis.Client) {
	t.Helper()
	for _, node := range nodes {
		if r, ok := p.read(t, name, node); ok {
			r.value = ""
			p.write(t, name, r, node)
		}
	}
}

// Shorten makes a lock expire on nodes after ttl.
func (p Prefix) Shorten(t testing.TB, name string, ttl time.Duration, nodes ...*redis.Client) {
	t.Helper()
	for _, node := range nodes {
		if r, ok := p.read(t, name, node); ok {
			r.deadline = now(t, node) + ttl.Microseconds()
			p.write(t, name, r, node)
		}
	}
}

// Number returns a node's fencing number for a lock.
func (p Prefix) Number(t testing.TB, name string, node *redis.Client) uint64 {
	t.Helper()
	r, ok := p.read(t, name, node)
	if !ok {
		t.Fatalf("there is no record of %q", name)
	}
	return r.number
}

// SetNumber makes number a node's fencing number for a lock, as if the node had counted that far since its guard began.
func (p Prefix) SetNumber(t testing.TB, name string, number uint64, node *redis.Client) {
	t.Helper()
	r, _ := p.read(t, name, node)
	r.number, r.since = number, p.guard(t, node)[43:59]
	r.deadline = max(r.deadline, now(t, node)) // the record of a free lock counts as new
	p.write(t, name, r, node)
}

// SpoilNumber replaces a node's fencing number for a lock with any 16 characters.
func (p Prefix) SpoilNumber(t testing.TB, name, text string, node *redis.Client) {
	t.Helper()
	check(t, node.HSet(t.Context(), p.Hash(), field(name), text+p.get(t, field(name), node)[len(text):]).Err())
}

// SpoilHighest replaces the largest token that a node has learned, if any, with any text.
func (p Prefix) SpoilHighest(t testing.TB, text string, node *redis.Client) {
	t.Helper()
	check(t, node.HSet(t.Context(), p.Hash(), "h", text).Err())
}

// HasNumber reports whether a node has a fencing number for a lock.
func (p Prefix) HasNumber(t testing.TB, name string, node *redis.Client) bool {
	t.Helper()
	_, ok := p.read(t, name, node)
	return ok
}

// Names counts the locks for which a node has a record.
func (p Prefix) Names(t testing.TB, node *redis.Client) int {
	t.Helper()
	fields, err := node.HKeys(t.Context(), p.Hash()).Result()
	check(t, err)
	return len(slices.DeleteFunc(fields, func(f string) bool { return f == guardField || f == "s" })) // s: the list of nodes
}

// Guarded reports whether a node has a guard, even one that is over.
func (p Prefix) Guarded(t testing.TB, node *redis.Client) bool {
	t.Helper()
	return p.guard(t, node) != ""
}

// Age makes a node's guard look as if it began long ago.
func (p Prefix) Age(t testing.TB, node *redis.Client) {
	t.Helper()
	g := p.guard(t, node)
	long := strings.Repeat("0", 15) + "1"
	check(t, node.HSet(t.Context(), p.Hash(), guardField, g[:43]+long+" "+long+g[76:]).Err())
}

// ForgeLongest makes a node believe that somebody has leases of this length, and that its guard began now.
func (p Prefix) ForgeLongest(t testing.TB, longest time.Duration, node *redis.Client) {
	t.Helper()
	g, began := p.guard(t, node), now(t, node)
	forged := fmt.Sprintf("%s%016d %016d %012d%s", g[:43], began, began+longest.Microseconds(), longest.Milliseconds(), g[89:])
	check(t, node.HSet(t.Context(), p.Hash(), guardField, forged).Err())
}

// Unused makes it look as if the list of nodes in a node's guard was last used long ago.
func (p Prefix) Unused(t testing.TB, node *redis.Client) {
	t.Helper()
	g := p.guard(t, node)
	check(t, node.HSet(t.Context(), p.Hash(), guardField, g[:107]+strings.Repeat("0", 13)).Err())
}

// guard returns a node's guard: LAYOUT IDENTITY SINCE UNTIL LONGEST LABEL USED, each of a fixed width.
func (p Prefix) guard(t testing.TB, node *redis.Client) string {
	t.Helper()
	return p.get(t, guardField, node)
}

// Sets returns the value that a command makes the holder of a lock, or "" if it does not set one. The command may be in
// a script.
func (p Prefix) Sets(name, command string, args ...string) string {
	if record := p.written(name, command, args); record != "" {
		return record[51:]
	}
	return ""
}

// Writes reports whether a command writes the record of a lock. The command may be in a script.
func (p Prefix) Writes(name, command string, args ...string) bool {
	return p.written(name, command, args) != ""
}

// written returns the record of a lock that a command writes, or "".
func (p Prefix) written(name, command string, args []string) string {
	if command == "HSET" && args[0] == p.Hash() {
		for i := 1; i+1 < len(args); i += 2 {
			if args[i] == field(name) {
				return args[i+1]
			}
		}
	}
	return ""
}

// get returns the text of a field, or "" if there is none.
func (p Prefix) get(t testing.TB, field string, node *redis.Client) string {
	t.Helper()
	text, err := node.HGet(t.Context(), p.Hash(), field).Result()
	if !errors.Is(err, redis.Nil) {
		check(t, err)
	}
	return text
}

// now returns the time of a node's clock, in microseconds since 1970.
func now(t testing.TB, node *redis.Client) int64 {
	t.Helper()
	at, err := node.Time(t.Context()).Result()
	check(t, err)
	return at.UnixMicro()
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
