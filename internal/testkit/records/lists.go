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

// WaitingOn returns the waiters that a node lists for a lock, in their order.
func (p Prefix) WaitingOn(ctx context.Context, name string, node redis.Cmdable) ([]string, error) {
	const head, entry = 17, 12
	list, err := node.HGet(ctx, p.Hash(), "w:"+name).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	var who []string
	for at := head; at+entry <= len(list); at += entry {
		who = append(who, list[at:at+entry])
	}
	return who, nil
}

// Waiting makes nodes list exactly these waiters for a lock, each of 12 characters, since the given time ago by the
// node's clock.
func (p Prefix) Waiting(t testing.TB, name string, ago time.Duration, who []string, nodes ...*redis.Client) {
	t.Helper()
	p.writeList(t, name, ' ', ago, who, nodes)
}

// Notified is like Waiting, but the first waiter was notified at that time that the lock is free.
func (p Prefix) Notified(t testing.TB, name string, ago time.Duration, who []string, nodes ...*redis.Client) {
	t.Helper()
	p.writeList(t, name, '!', ago, who, nodes)
}

func (p Prefix) writeList(t testing.TB, name string, mark rune, ago time.Duration, who []string, nodes []*redis.Client) {
	t.Helper()
	for _, node := range nodes {
		p.WriteList(t, name, fmt.Sprintf("%016d%c", now(t, node)-ago.Microseconds(), mark)+strings.Join(who, ""), node)
	}
}

// DamagedLists returns texts that are not valid lists of waiters, by what is wrong with each.
func DamagedLists() map[string]string {
	at := fmt.Sprintf("%016d", time.Now().UnixMicro())
	return map[string]string{
		"empty":            "",
		"short":            "abc",
		"without a time":   "garbage in here !ABCDEFGHIJKL",
		"a part of a name": at + " ABCDE",
		"more than a name": at + "!ABCDEFGHIJKLM",
	}
}

// WriteList writes text in place of the list of waiters for a lock.
func (p Prefix) WriteList(t testing.TB, name, text string, nodes ...*redis.Client) {
	t.Helper()
	for _, node := range nodes {
		check(t, node.HSet(t.Context(), p.Hash(), "w:"+name, text).Err())
	}
}
