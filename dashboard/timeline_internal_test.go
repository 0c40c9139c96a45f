package dashboard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/ops"
	"github.com/redlockfx/redlockfx/scheduler"
)

func TestTimeline_ShowsALeaderOfYears(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 59, 0, time.UTC)
	v := &view{Now: now, TermsKnown: true, Leader: &ops.Leader{Term: 7}, Terms: []term{{Term: 7, Since: now.AddDate(-3, 0, 0)}}}
	v.lastTerms()
	for _, p := range periods {
		if terms := newTimeline(v, p).Terms; len(terms) != 1 || terms[0].X != 0 || terms[0].W < width-width*int(p.step)/int(p.length)-1 {
			t.Errorf("%s: %+v, want one from 0 to the present", p.Name, terms)
		}
	}
}

// A row may claim to stand for any number of ticks.
func TestTimeline_OfMoreTicksThanTimeHas(t *testing.T) {
	now := instant
	records := []scheduler.Record{
		{Run: scheduler.Run{Tick: now.Add(-time.Minute)}, State: scheduler.StateMissed, Ticks: 1 << 53, From: now.AddDate(-9000, 0, 0)},
		{Run: scheduler.Run{Tick: now.Add(-time.Minute)}, State: scheduler.StateMissed, Ticks: 1 << 62, From: now.AddDate(9, 0, 0)},
		{Run: scheduler.Run{Tick: now.Add(-time.Minute)}, State: scheduler.StateSkipped, Ticks: 1 << 62, From: now.Add(-time.Minute)},
	}
	for _, p := range periods {
		line := newTimeline(&view{Now: now}, p)
		line.addRuns(records, time.Time{}, &view{Now: now})
		if len(line.Missed) == 0 || strings.Contains(line.Summary, ", -") {
			t.Errorf("%s: %+v, %q", p.Name, line.Missed, line.Summary)
		}
	}
}

// An on-call person finds the minute of the picture in the log.
func TestTimeline_BarsStandOnWholeSteps(t *testing.T) {
	now := instant.Add(43 * time.Second)
	at := func(ago time.Duration) time.Time { return instant.Add(-ago) }
	records := []scheduler.Record{
		{Run: scheduler.Run{Tick: at(0)}, Start: at(0), State: scheduler.StateOK},
		{Run: scheduler.Run{Tick: at(time.Minute)}, Start: at(time.Minute - 59*time.Second), State: scheduler.StateFailed},
		{Run: scheduler.Run{Tick: at(2 * time.Minute)}, Ticks: 3, From: at(4 * time.Minute), State: scheduler.StateMissed},
		{Run: scheduler.Run{Tick: at(8 * time.Hour)}, Start: at(8 * time.Hour), State: scheduler.StateOK},
		{Run: scheduler.Run{Tick: at(6 * 24 * time.Hour)}, Start: at(6 * 24 * time.Hour), State: scheduler.StateOK},
	}
	titles := func(p period) (all []string) {
		v := &view{Now: now}
		line := newTimeline(v, p)
		line.addRuns(records, time.Time{}, v)
		for _, boxes := range [][]box{line.Good, line.Bad, line.Missed} {
			for _, one := range boxes {
				all = append(all, one.Title)
			}
		}
		return all
	}
	for i, want := range []string{
		"10:00: 1 run|09:59: 1 run, 1 of them failed, lost or interrupted|" +
			"09:56: 0 runs, 1 tick not run|09:57: 0 runs, 1 tick not run|09:58: 0 runs, 1 tick not run",
		"02:00 to 02:20: 1 run|10:00 to 10:20: 1 run|" +
			"09:40 to 10:00: 1 run, 1 of them failed, lost or interrupted, 3 ticks not run|" +
			"09:40 to 10:00: 1 run, 1 of them failed, lost or interrupted, 3 ticks not run",
		"Mon 10:00 to 12:00: 1 run|Sun 02:00 to 04:00: 1 run|Sun 10:00 to 12:00: 1 run|" +
			"Sun 08:00 to 10:00: 1 run, 1 of them failed, lost or interrupted, 3 ticks not run|" +
			"Sun 08:00 to 10:00: 1 run, 1 of them failed, lost or interrupted, 3 ticks not run",
	} {
		if got := strings.Join(titles(periods[i]), "|"); got != want {
			t.Errorf("%s: got  %s\nwant %s", periods[i].Name, got, want)
		}
	}
}

// A nightly job is in the picture without a click.
func TestPeriod_HasSeveralTicksOfTheJob(t *testing.T) {
	for spec, want := range map[string]string{
		"* * * * *": "hour", "*/15 * * * *": "hour", "@hourly": "day", "0 */6 * * *": "day", "0 2 * * *": "week", "0 2 * * 1": "week", "": "hour",
	} {
		next, _ := scheduler.Preview(spec, nil, instant, 5)
		if got := periodOf(next).Name; got != want {
			t.Errorf("%q: the %s, want the %s", spec, got, want)
		}
	}
}

// A number that nobody knows is not shown as 0.
func TestTimeline_SaysWhatIsNotKnown(t *testing.T) {
	known := view{Now: instant, TermsKnown: true}
	for text, v := range map[string]view{
		"the changes of the leader are not known": {Now: instant}, "no term of a leader is recorded": known,
	} {
		if line := newTimeline(&v, periods[0]); line.Summary != "Since 09:01:00 UTC: "+text+"." || line.NoTerms != width {
			t.Errorf("%q, unknown up to %d", line.Summary, line.NoTerms)
		}
	}
	for i := range keptTerms {
		since := instant.Add(-time.Duration(i) * 10 * time.Second)
		known.Terms = append(known.Terms, term{Since: since, Until: since.Add(10 * time.Second), Ended: true})
	}
	line := newTimeline(&known, periods[0])
	if !strings.Contains(line.Summary, ": at least 100 changes of the leader.") || line.NoTerms != line.x(known.Terms[keptTerms-1].Since) {
		t.Errorf("%q, unknown up to %d", line.Summary, line.NoTerms)
	}
	if text := newTimeline(&view{Now: instant, TermsKnown: true, Terms: known.Terms[:1], Gaps: []gap{
		{From: instant.Add(-90 * time.Second), To: instant}}}, periods[0]).Summary; !strings.Contains(text, ", at most 1 min 30 s without a leader") {
		t.Errorf("%q", text)
	}
}

// Nobody knows how a run without an end went if its leader is gone.
func TestTimeline_OfARunWhoseLeaderIsGone(t *testing.T) {
	run := func(token uint64) scheduler.Record {
		return scheduler.Record{Run: scheduler.Run{Token: token}, State: scheduler.StateRunning, Start: instant.Add(-time.Minute)}
	}
	v := &view{Now: instant, Leader: &ops.Leader{Term: 7}}
	line := newTimeline(v, periods[0])
	line.addRuns([]scheduler.Record{run(7), run(6)}, time.Time{}, v)
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
		maxRecords:     fmt.Sprintf("Since 09:10:00 UTC (no earlier ticks are kept): %d runs. ", maxRecords),
		maxRecords - 1: fmt.Sprintf("Since 09:01:00 UTC: %d runs, ", maxRecords-1),
	} {
		v := &view{Now: instant}
		line := newTimeline(v, periods[0])
		line.addRuns(records[:kept], time.Time{}, v)
		if (line.Unknown > 0) != (kept == maxRecords) || !strings.HasPrefix(line.Summary, says) {
			t.Errorf("%d rows: unknown up to %d, %q", kept, line.Unknown, line.Summary)
		}
	}
}
