package jobstore_test

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/redlockfx/redlockfx/internal/jobstore"
)

func full(start time.Time) jobstore.State {
	at := func(d time.Duration) time.Time { return start.Add(d).Truncate(time.Millisecond).UTC() }
	ok := jobstore.Record{
		Slot: jobstore.Slot{At: at(0)}, ID: "ab", Attempt: 3, Token: 9, State: jobstore.StateOK, Replica: "pod, 1=x",
		Start: at(time.Second), End: at(2 * time.Second), Late: true,
	}
	failed := ok
	failed.State, failed.Err, failed.Attempt = jobstore.StateFailed, "it said: \"no\", and 100% = ü", 1
	return jobstore.State{
		Since: at(-time.Hour), Plan: "Europe/Vienna 0 3 * * *", Mark: at(time.Minute), Reading: at(time.Hour),
		Pause: settingAt(start, "0a1b2c"), All: settingAt(at(time.Second), "3d4e5f"),
		Manual: settingAt(at(time.Minute), "0a1b2c").Mark, Canceled: settingAt(at(time.Hour), "ffffff").Mark,
		Reruns: []jobstore.Rerun{
			{Tick: at(0), Mark: settingAt(start, "00000a").Mark}, {Tick: at(time.Minute), Mark: settingAt(start, "00000b").Mark, Outcome: failed},
		},
		Missed: 12, NotRun: jobstore.NotRun{Tick: at(-time.Minute), Reason: "no leader from a to b"},
		Open: []jobstore.Open{
			{Slot: jobstore.Slot{At: at(time.Minute)}, ID: "cd", Attempt: 1, Tries: 4, Token: 1 << 52, Replica: "a", Start: at(time.Hour),
				NotBefore: at(2 * time.Hour)},
			{Slot: jobstore.Slot{At: at(time.Second), Manual: true}, ID: "ef", Attempt: 2, Tries: 1, Late: true, Returned: true, Timeout: time.Minute},
		},
		Skipped: &jobstore.Record{Slot: jobstore.Slot{At: at(0)}, State: jobstore.StateSkipped, Ticks: 3, From: at(-time.Hour)},
		Last:    &failed, LastOK: &ok, Failures: 4,
		Gaps: []jobstore.Range{{After: at(-time.Hour), UpTo: at(0)}, {After: at(time.Second), UpTo: at(time.Minute)}}, Ran: jobstore.Range{After: at(0), UpTo: at(time.Hour)},
	}
}

func wantState(t *testing.T, got, want jobstore.State) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// The last run is usually the last good one, also when each of the two was moved back with the clocks.
func TestState_TheLastRunIsStoredOnce(t *testing.T) {
	last := jobstore.Record{State: jobstore.StateOK, Start: time.UnixMilli(1), End: time.UnixMilli(2)}
	good := last
	one, both := jobstore.State{Last: &last, LastOK: &last}, jobstore.State{Last: &last, LastOK: &good}
	if text := both.Text(); text != one.Text() {
		t.Errorf("%q", text)
	}
}

// An error may have bytes from a child process or a protocol.
func TestState_AnErrorOfAnyBytesIsKeptAsText(t *testing.T) {
	for name, test := range map[string]struct{ err, kept string }{
		"continuation bytes":   {strings.Repeat("\x80", 1025), "?"},
		"invalid bytes":        {"a\xff\xfeb", "a?b"},
		"cut in a character":   {"a" + strings.Repeat("ü", 1024), "a" + strings.Repeat("ü", 511) + "?"},
		"every other byte bad": {strings.Repeat("a\xff", 1024), strings.Repeat("a?", 512)},
		"not cut":              {strings.Repeat("ü", 512), strings.Repeat("ü", 512)},
	} {
		t.Run(name, func(t *testing.T) {
			s := jobstore.State{
				NotRun: jobstore.NotRun{Tick: time.UnixMilli(1), Reason: test.err},
				Last:   &jobstore.Record{State: jobstore.StateFailed, Err: test.err},
			}
			if n := len(s.Text()); n > 2*1024+100 {
				t.Errorf("the errors take %d bytes", n)
			}
			kept, err := jobstore.DecodeState(s.Text())
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{kept.Last.Err, kept.NotRun.Reason} {
				if text != test.kept || len(text) > 1024 || !utf8.ValidString(text) {
					t.Errorf("kept %d bytes, %.20q...", len(text), text)
				}
			}
		})
	}
}

// Whatever a node returns is decoded without harm.
func FuzzDecodeState(f *testing.F) {
	f.Add(full(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).Text())
	f.Add("since=1 plan=%zz open=t5,a,1,1,x")
	f.Add("last=m1,ok,a,1,1,b,-5,9223372036854775807")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := jobstore.DecodeState(text)
		if err != nil {
			return
		}
		again, err := jobstore.DecodeState(s.Text())
		if err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		if again.Text() != s.Text() {
			t.Errorf("%q became %q", s.Text(), again.Text())
		}
	})
}
