package records

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Fill gives a node the records of many locks, named stem and a number from 0 on. With a value the locks are held, like
// those of [Prefix.Put]. Without one they are free, and left is negative: it says for how long.
func (p Prefix) Fill(t testing.TB, stem string, many int, value string, left time.Duration, node *redis.Client) {
	t.Helper()
	const atOnce = 5000
	r := record{number: 1, since: strings.Repeat("0", 16), deadline: now(t, node) + left.Microseconds(), value: value}
	var changes []string
	for i := range many {
		changes = append(changes, field(fmt.Sprint(stem, i)), r.String())
		if len(changes) >= atOnce || i == many-1 {
			check(t, node.HSet(t.Context(), p.Hash(), changes).Err())
			changes = nil
		}
	}
}

// Filled counts the records from Fill that a node still has.
func (p Prefix) Filled(t testing.TB, stem string, many int, node *redis.Client) (n int) {
	t.Helper()
	var fields []string
	for i := range many {
		fields = append(fields, field(fmt.Sprint(stem, i)))
	}
	values, err := node.HMGet(t.Context(), p.Hash(), fields...).Result()
	check(t, err)
	for _, value := range values {
		if value != nil {
			n++
		}
	}
	return n
}

// Exists reports whether a node has the hash. A server that evicts keys that were not used lately does not count this
// as a use of the hash, unlike the other methods.
func (p Prefix) Exists(t testing.TB, node *redis.Client) bool {
	t.Helper()
	n, err := node.Exists(t.Context(), p.Hash()).Result()
	check(t, err)
	return n > 0
}
