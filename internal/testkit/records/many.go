package records

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// fill writes records quickly. Its arguments are the number and the guard of all records, their deadline (µs from now),
// their value, the prefix of their fields, and the first and the last number after that prefix.
var fill = redis.NewScript(`
local t = redis.call('TIME')
local record = string.format('%s %016d %s', ARGV[1], t[1] * 1000000 + t[2] + ARGV[2], ARGV[3])
local changes = {}
for i = tonumber(ARGV[5]), tonumber(ARGV[6]) do
  changes[#changes + 1] = ARGV[4] .. i
  changes[#changes + 1] = record
  if #changes == 2000 then
    redis.call('HSET', KEYS[1], unpack(changes))
    changes = {}
  end
end
if #changes > 0 then
  redis.call('HSET', KEYS[1], unpack(changes))
end`)

// Fill gives a node the records of many locks, named stem and a number from 0 on. With a value the locks are held, like
// those of [Prefix.Put]. Without one they are free, and left is negative: it says for how long.
func (p Prefix) Fill(t testing.TB, stem string, many int, value string, left time.Duration, node *redis.Client) {
	t.Helper()
	const atOnce = 50_000 // few enough that a server does not take the script for a hung one
	number := fmt.Sprintf("%016d %016d", 1, 0)
	for first := 0; first < many; first += atOnce {
		err := fill.Run(t.Context(), node, []string{p.Hash()}, number, left.Microseconds(), value, field(stem), first,
			min(first+atOnce, many)-1).Err()
		if !errors.Is(err, redis.Nil) { // the script returns nothing
			check(t, err)
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

// GuardBegan returns when a node's guard began, by the node's clock, or zero if there is none.
func (p Prefix) GuardBegan(t testing.TB, node *redis.Client) time.Time {
	t.Helper()
	g := p.guard(t, node)
	if g == "" {
		return time.Time{}
	}
	micros, err := strconv.ParseInt(g[43:59], 10, 64)
	check(t, err)
	return time.UnixMicro(micros)
}
