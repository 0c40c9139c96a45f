package records

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// RunState returns the state of the run that a node has recorded for a tick of a job, empty if there is none.
func (p Prefix) RunState(t testing.TB, election, job string, tick time.Time, node *redis.Client) string {
	t.Helper()
	slot := fmt.Sprintf("t%d", tick.UnixMilli())
	record, err := node.HGet(t.Context(), p.job("job", election, job), "o:"+slot).Result()
	if errors.Is(err, redis.Nil) {
		record, err = node.HGet(t.Context(), p.job("runs", election, job), slot).Result()
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	if parts := strings.Split(record, ":"); len(parts) > 4 {
		return parts[4]
	}
	return ""
}

// Voted returns the latest tick of a job that a node has voted for, zero if there is none.
func (p Prefix) Voted(t testing.TB, election, job string, node *redis.Client) time.Time {
	t.Helper()
	fields, err := node.HGetAll(t.Context(), p.job("job", election, job)).Result()
	if err != nil {
		t.Fatal(err)
	}
	mark, err := strconv.ParseInt(fields["mark"], 10, 64)
	if err != nil || fields["by"] == "0" { // no mark, or one that other nodes told it
		return time.Time{}
	}
	return time.UnixMilli(mark)
}

// job is one of the two keys of a job.
func (p Prefix) job(kind, election, job string) string {
	return "{" + string(p) + "}:" + kind + ":" + election + ":" + job
}
