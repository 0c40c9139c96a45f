//go:build unix

package integration_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/integration"
	"github.com/redlockfx/redlockfx/scheduler"
)

const (
	sourceName = "rows"
	loadEvery  = 2 * time.Second
)

// load returns a job for each line of the file of rows.
func (r *replica) load(context.Context) (rows []scheduler.Job, err error) {
	text, err := os.ReadFile(r.Rows)
	for name := range strings.FieldsSeq(string(text)) {
		job := r.job()
		job.Name = name
		rows = append(rows, job)
	}
	return rows, err
}

// setRows replaces the file at once.
func setRows(t *testing.T, path string, names ...string) {
	t.Helper()
	must(t, os.WriteFile(path+".new", []byte(strings.Join(names, " ")), 0o600))
	must(t, os.Rename(path+".new", path))
}

// Rows change while leaders are killed. Each leader runs those that are there, and each of their ticks once. The tick
// that a leader was about to run when it was killed may be lost instead, and is recorded so.
func TestSource_RowsChangeWhileLeadersAreKilled(t *testing.T) {
	t.Parallel()
	s := steady()
	s.Rows = filepath.Join(t.TempDir(), "rows")
	setRows(t, s.Rows, "stays", "goes")
	c := start(t, startNodes(t, nodeCount), s)
	viewer := c.observe()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	runOf := func(job string, after time.Time) integration.Event {
		return c.await("run of "+job, func(e integration.Event) bool {
			return e.Kind == integration.RunBegin && e.Job == job && e.Tick.After(after)
		})
	}

	first := runOf("rows/goes", time.Time{})
	c.replicas[first.Replica].signal(syscall.SIGKILL)
	setRows(t, s.Rows, "stays", "comes") // while nobody leads
	came := runOf("rows/comes", time.Time{})
	if came.Replica == first.Replica {
		t.Fatalf("%s was killed, and runs the new row", first.Replica)
	}
	poll(t, "end of the row that went while nobody led", func() bool {
		status, err := viewer.Status(ctx, "rows/goes")
		return err == nil && status.Removed
	})

	setRows(t, s.Rows, "stays", "goes")
	rec, err := viewer.TriggerAndWait(ctx, sourceName)
	if err != nil || rec.State != scheduler.StateOK {
		t.Fatalf("the load: %+v, %v", rec, err)
	}
	loaded := time.Now()
	back := runOf("rows/goes", loaded)
	c.replicas[back.Replica].signal(syscall.SIGKILL)
	runOf("rows/goes", back.Tick.Add(ttl/2))
	runOf("rows/stays", back.Tick) // it has caught up with the ticks that nobody ran

	events, _ := c.reported(0)
	stays := make(map[time.Time]int)
	for _, e := range events {
		switch {
		case e.Kind != integration.RunBegin:
		case e.Job == "rows/stays":
			stays[e.Tick]++
		case e.Job == "rows/comes" && e.Tick.After(loaded.Add(time.Second)):
			t.Errorf("%s runs the tick %s of a row that is gone", e.Replica, e.Tick)
		case e.Job == "rows/goes" && e.Replica == came.Replica && e.Tick.After(first.Tick.Add(ttl/2)) && e.Tick.Before(rec.Tick):
			t.Errorf("%s runs the tick %s of a row that was gone", e.Replica, e.Tick)
		}
	}
	history, err := viewer.History(ctx, "rows/stays", 50)
	must(t, err)
	for tick := first.Tick.Add(2 * tickEvery); tick.Before(back.Tick); tick = tick.Add(tickEvery) {
		if r := recordOver(history, tick); stays[tick] > 1 || stays[tick] == 0 && r.State != scheduler.StateLost {
			t.Errorf("the tick %s of the row that stays ran %d times, and is recorded as %+v", tick, stays[tick], r)
		}
	}
}
