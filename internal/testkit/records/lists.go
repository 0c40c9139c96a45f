package records

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// WaitingOn returns the processes that stand in line for a lock on a node, in their order.
func (p Prefix) WaitingOn(ctx context.Context, name string, node redis.Cmdable) ([]string, error) {
	const id, entry = 12, 28
	line, err := node.HGet(ctx, p.Hash(), "l:"+name).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	var who []string
	for at := 0; at+entry <= len(line); at += entry {
		who = append(who, line[at:at+id])
	}
	return who, nil
}

// Waiting makes exactly these processes, each of 12 characters, stand in line for a lock on nodes. They promise to be
// there for d by the node's clock; a negative d has passed.
func (p Prefix) Waiting(t testing.TB, name string, d time.Duration, who []string, nodes ...*redis.Client) {
	t.Helper()
	for _, node := range nodes {
		var line strings.Builder
		for _, id := range who {
			fmt.Fprintf(&line, "%s%016d", id, now(t, node)+d.Microseconds())
		}
		p.WriteLine(t, name, line.String(), node)
	}
}

// DamagedLines returns texts that are not valid lines, by what is wrong with each.
func DamagedLines() map[string]string {
	return map[string]string{
		"empty":             "",
		"short":             "abc",
		"without a promise": "ABCDEFGHIJKLgarbage in here!",
		"a part of a name":  fmt.Sprintf("ABCDEFGHIJKL%016dABCDE", time.Now().Add(time.Hour).UnixMicro()),
		"forever":           "ABCDEFGHIJKL9999999999999999",
	}
}

// WriteLine writes text in place of the line for a lock.
func (p Prefix) WriteLine(t testing.TB, name, text string, nodes ...*redis.Client) {
	t.Helper()
	for _, node := range nodes {
		check(t, node.HSet(t.Context(), p.Hash(), "l:"+name, text).Err())
	}
}
