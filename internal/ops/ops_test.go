package ops_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/ops"
	"github.com/redlockfx/redlockfx/scheduler"
)

func TestDuration_IsMillisecondsInJSONAndTwoUnitsForPeople(t *testing.T) {
	for d, c := range map[time.Duration]struct{ json, text string }{
		0:                                     {"0", "0 ms"},
		420 * time.Microsecond:                {"0.42", "0.4 ms"},
		-1500*time.Millisecond - 1:            {"-1500", "−1.5 s"},
		3*time.Minute + 20*time.Second:        {"200000", "3 min 20 s"},
		49 * time.Hour:                        {"176400000", "2 d 1 h"},
		12*time.Millisecond + time.Nanosecond: {"12", "12 ms"},
	} {
		text, err := json.Marshal(ops.Duration(d))
		if err != nil || string(text) != c.json || ops.Duration(d).String() != c.text {
			t.Errorf("%v is %s and %q, want %s and %q", d, text, ops.Duration(d), c.json, c.text)
		}
	}
}

// What is not known of a run is missing, and no zero.
func TestRecord_LeavesOutWhatIsNotKnown(t *testing.T) {
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	r := scheduler.Record{Run: scheduler.Run{Job: "a", Tick: now}, ID: "x", State: scheduler.StateLost, Start: now, End: now.Add(time.Hour)}
	lost := ops.RecordOf(&r, now)
	r.State = scheduler.StateMissed
	missed := ops.RecordOf(&r, now)
	r.State = scheduler.StateRunning
	running := ops.RecordOf(&r, now.Add(time.Minute))
	if running.Took == nil || *running.Took != ops.Duration(time.Minute) || running.End != nil {
		t.Errorf("a run under way: %+v", running)
	}
	running.MarkUnknown()
	for want, got := range map[string]ops.Record{
		`{"job":"a","tick":"2026-11-22T10:00:00Z","state":"lost","start":"2026-11-22T10:00:00Z","lag_ms":0}`:    lost,
		`{"job":"a","tick":"2026-11-22T10:00:00Z","state":"missed"}`:                                            missed,
		`{"job":"a","tick":"2026-11-22T10:00:00Z","state":"unknown","start":"2026-11-22T10:00:00Z","lag_ms":0}`: running,
	} {
		if text, err := json.Marshal(got); err != nil || string(text) != want {
			t.Errorf("%s, %v, want %s", text, err, want)
		}
	}
}

// The filter of the page and that of redlockctl are one.
func TestJob_Matches(t *testing.T) {
	status := func(change func(*scheduler.Status)) ops.Job {
		s := scheduler.Status{Job: "Nightly", Spec: "0 2 * * *", Zone: "Europe/Berlin"}
		change(&s)
		return ops.JobOf(&s, time.Now())
	}
	jobs := map[string]ops.Job{
		"well":   status(func(*scheduler.Status) {}),
		"failed": status(func(s *scheduler.Status) { s.Failures = 1 }),
		"paused": status(func(s *scheduler.Status) { s.Paused, s.Reason, s.ReasonTick = true, "paused by ann", time.Now() }),
		"skips":  status(func(s *scheduler.Status) { s.Running, s.Reason, s.ReasonTick = true, "a run was under way", time.Now() }),
		"sick":   status(func(s *scheduler.Status) { s.Reason = "cannot be read" }),
		"other":  status(func(s *scheduler.Status) { s.Own = "none" }),
	}
	for only, of := range map[string]string{
		"": "failed other paused sick skips well", "trouble": "failed other sick skips", "failed": "failed", "paused": "paused", "running": "skips",
	} {
		got := ""
		for _, name := range []string{"failed", "other", "paused", "sick", "skips", "well"} {
			if j := jobs[name]; j.Matches("BERLIN", only) {
				got += " " + name
			}
			if j := jobs[name]; j.Matches("elsewhere", only) {
				t.Errorf("%s matches any text", name)
			}
		}
		if got != " "+of {
			t.Errorf("%q selects%s, want %s", only, got, of)
		}
	}
	if sick := jobs["sick"]; sick.Failures != nil || sick.Missed != nil {
		t.Errorf("of a job that cannot be read, the numbers are known: %+v", sick)
	}
}
