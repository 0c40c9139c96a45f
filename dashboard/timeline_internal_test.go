package dashboard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

func TestTimeline_ShowsALeaderOfYears(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	v := &view{Now: now, Leader: &leader{Term: 7}, Terms: []term{{Term: 7, Since: now.AddDate(-3, 0, 0)}}}
	v.lastTerms()
	if terms := newTimeline(v).Terms; len(terms) != 1 || terms[0].X != 0 || terms[0].W != width {
		t.Errorf("%+v, want one from 0 to %d", terms, width)
	}
}

// A row may claim to stand for any number of ticks.
func TestTimeline_OfMoreTicksThanTimeHas(t *testing.T) {
	now := instant
	records := []scheduler.Record{
		{Run: scheduler.Run{Tick: now.Add(-time.Minute)}, State: scheduler.StateMissed, Ticks: 1 << 53, From: now.AddDate(-9000, 0, 0)},
		{Run: scheduler.Run{Tick: now.Add(-time.Minute)}, State: scheduler.StateMissed, Ticks: 1 << 53, From: now.AddDate(9, 0, 0)},
		{Run: scheduler.Run{Tick: now.Add(-time.Minute)}, State: scheduler.StateSkipped, Ticks: 1 << 53, From: now.Add(-time.Minute)},
		{Run: scheduler.Run{Tick: now.Add(-time.Minute)}, State: scheduler.StateSkipped, Ticks: 3, From: now.Add(-3 * time.Minute)},
	}
	for i := range records {
		n := 0
		for range ticksSince(&records[i], now.Add(-span)) {
			if n++; n > mostTicks {
				t.Fatalf("row %d stands for more than %d ticks of an hour", i, mostTicks)
			}
		}
	}
	var line timeline
	line.addRuns(records, now, time.Time{}, func(uint64) bool { return false })
	if len(line.Missed) != 3 {
		t.Errorf("%d minutes have ticks that were not run: %+v", len(line.Missed), line.Missed)
	}
}

// Nobody knows how a run without an end went if its leader is gone.
func TestTimeline_OfARunWhoseLeaderIsGone(t *testing.T) {
	run := func(token uint64) scheduler.Record {
		return scheduler.Record{Run: scheduler.Run{Token: token}, State: scheduler.StateRunning, Start: instant.Add(-time.Minute)}
	}
	var line timeline
	line.addRuns([]scheduler.Record{run(7), run(6)}, instant, time.Time{}, func(token uint64) bool { return token < 7 })
	if len(line.Good) != 1 || len(line.Unsure) != 1 || !strings.Contains(line.Summary, "2 runs, the end of 1 of them unknown") {
		t.Errorf("%d minutes with good runs, %d with unknown ones: %q", len(line.Good), len(line.Unsure), line.Summary)
	}
}

// The nodes keep the newest rows of a job, so the page says from when on it knows the ticks.
func TestTimeline_SaysFromWhenOnTicksAreKept(t *testing.T) {
	records := make([]scheduler.Record, maxRecords)
	for i := range records {
		at := instant.Add(-time.Duration(i+1) * time.Minute)
		records[i] = scheduler.Record{Run: scheduler.Run{Tick: at}, State: scheduler.StateOK, Start: at, End: at}
	}
	for kept, says := range map[int]string{
		maxRecords:     fmt.Sprintf("(no earlier ticks are kept): %d runs", maxRecords),
		maxRecords - 1: fmt.Sprintf("In the last hour: %d runs", maxRecords-1),
	} {
		var line timeline
		line.addRuns(records[:kept], instant, time.Time{}, func(uint64) bool { return false })
		if (line.Unknown > 0) != (kept == maxRecords) || !strings.Contains(line.Summary, says) {
			t.Errorf("%d rows: unknown up to %d, %q", kept, line.Unknown, line.Summary)
		}
	}
}
