package records

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Mark returns the high-water mark that a node has stored for a job, or zero if it knows nothing of the job.
func (p Prefix) Mark(t testing.TB, election, job string, node *redis.Client) time.Time {
	t.Helper()
	const from, to = 62, 75 // of an entry
	entry := p.entry(t, election, job, node)
	if len(entry) < to {
		return time.Time{}
	}
	mark, err := strconv.ParseInt(entry[from:to], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.UnixMilli(mark)
}

func (p Prefix) entry(t testing.TB, election, job string, node *redis.Client) string {
	t.Helper()
	entry, err := node.HGet(t.Context(), p.job("jobs", election), job).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return entry
}

func (p Prefix) job(kind, election string) string {
	return "{" + string(p) + "}:" + kind + ":" + election
}
