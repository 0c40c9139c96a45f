package records

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Waiting lists these as waiting for a lock on nodes, each of 12 characters, and nobody else.
func (p Prefix) Waiting(t testing.TB, name string, who []string, nodes ...*redis.Client) {
	t.Helper()
	for _, node := range nodes {
		p.WriteList(t, name, fmt.Sprintf("%016d ", now(t, node))+strings.Join(who, ""), node)
	}
}

// Told is Waiting where the first of them was told that the lock is free, so long ago by the node's clock.
func (p Prefix) Told(t testing.TB, name string, ago time.Duration, who []string, nodes ...*redis.Client) {
	t.Helper()
	for _, node := range nodes {
		p.WriteList(t, name, fmt.Sprintf("%016d!", now(t, node)-ago.Microseconds())+strings.Join(who, ""), node)
	}
}

// DamagedLists returns texts that are no list of those who wait, by what is wrong with each.
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

// WriteList makes text what nodes keep of those who wait for a lock.
func (p Prefix) WriteList(t testing.TB, name, text string, nodes ...*redis.Client) {
	t.Helper()
	for _, node := range nodes {
		check(t, node.HSet(t.Context(), p.Hash(), "w:"+name, text).Err())
	}
}
