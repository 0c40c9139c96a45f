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

// Running is what [Prefix.RunState] returns for a run that has not ended.
const Running = "running"

// RunState returns the state of the run that a node has stored for a tick of a job, or "" if there is none.
func (p Prefix) RunState(t testing.TB, election, job string, tick time.Time, node *redis.Client) string {
	t.Helper()
	slot := fmt.Sprintf("t%d,", tick.UnixMilli())
	if strings.Contains(p.entry(t, election, job, node), " open="+slot) {
		return Running
	}
	rows, err := node.LRange(t.Context(), p.job("runs", election)+":"+job, 0, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if rest, ok := strings.CutPrefix(row, slot); ok {
			state, _, _ := strings.Cut(rest, ",")
			return state
		}
	}
	return ""
}

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
