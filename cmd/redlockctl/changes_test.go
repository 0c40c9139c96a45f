package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/scheduler"
)

func TestHistory_TellsWhoChangedWhatAndWhy(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	led(t, c)
	if all := decode[pastJSON](t, do("history", "nightly report", "-o", "json")); all.Changes == nil || len(all.Changes) > 0 {
		t.Errorf("changes before there were any: %+v", all)
	}
	do("pause", "nightly report").want(t, 0, "is paused", "")
	do("resume", "nightly report", "--as", "ann (ticket 7)", "-o", "json").want(t, 0, `"action": "resume"`, "")
	if list := decode[[]job](t, do("jobs", "-o", "json")); list[1].Paused {
		t.Errorf("jobs %+v", list)
	}
	do("trigger", "nightly report", "--as", "bo").want(t, 0, "is triggered", "")
	until(t, "it has run", func() bool {
		runs := decode[pastJSON](t, do("history", "nightly report", "-o", "json")).Records
		return len(runs) == 1 && runs[0].State == "ok" && runs[0].Manual && runs[0].Replica == "pod-1"
	})
	do("pause", "nightly report", "--as", "a\x1bb").want(t, misused, "", `who "a\x1bb" must not contain`)
	do("pause", "nightly report", "--reason", "a\x1bb").want(t, misused, "", "reason")

	all := decode[pastJSON](t, do("history", "nightly report", "-o", "json"))
	want := []pastChange{{What: "trigger", By: "bo"}, {What: "resume", By: "ann (ticket 7)"}, {What: "pause", By: osUser()}}
	if len(all.Changes) != len(want) {
		t.Fatalf("changes %+v", all.Changes)
	}
	for i, got := range all.Changes {
		if got.What != want[i].What || got.By != want[i].By || got.Replica != identity() || got.At.IsZero() {
			t.Errorf("change %d is %+v", i, got)
		}
	}
	do("pause", "nightly report", "--as", "ann", "--reason", "moving the ledger").want(t, 0, "is paused", "")
	do("jobs").want(t, 0, ": moving the ledger", "")
	do("history", "nightly report").want(t, 0, "pause    ann             moving the ledger  redlockctl by ", "")
	list := decode[[]job](t, do("jobs", "-o", "json"))
	if p := list[1].Pause; !list[1].Paused || p == nil || p.By != "ann" || p.Reason != "moving the ledger" {
		t.Errorf("%+v", p)
	}
	if !strings.HasPrefix(osUser(), "os user ") {
		t.Errorf("%q is not marked as a claim", osUser())
	}
	text := do("history", "nightly report").out
	_, table, found := strings.Cut(text, "\n\nWHEN")
	if !found || strings.Index(table, "trigger  bo") > strings.Index(table, "resume") || !strings.Contains(table, osUser()) {
		t.Errorf("the table is\n%s", text)
	}
}

func TestPause_MayHaveAnEndAndBeOfAllJobs(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	led(t, c)
	do("pause", "nightly report", "--until", "tomorrow").want(t, misused, "", `--until "tomorrow" must be a time with a zone`)
	do("pause", "nightly report", "--for", "-2h").want(t, misused, "", "must not be negative")
	do("pause", "nightly report", "--for", "2h", "--until", "2099-01-01T00:00:00Z").want(t, misused, "", "exclude each other")
	do("pause", "nightly report", "--until", "2001-01-01T00:00:00Z").want(t, failed, "", "is over")
	do("pause", "nightly report", "--until", "2099-01-01T00:00:00Z").want(t, 0, "is paused", "")
	do("jobs").want(t, 0, " until 2099-01-01 00:00:00", "")
	do("history", "nightly report").want(t, 0, "pause until 2099-01-01 00:00:00", "")
	do("resume", "nightly report").want(t, 0, "is resumed", "")
	do("rerun", "nightly report", "tonight").want(t, misused, "", `the tick "tonight" must be a time with a zone`)
	do("rerun", "nightly report", "2001-01-01T00:00:01Z").want(t, failed, "", "not a tick")
	do("rerun", "nightly report", at(time.Date(2001, 1, 1, 0, 0, 1, 0, time.UTC))).want(t, failed, "", "not a tick")
	do("cancel", "nightly report").want(t, failed, "", "no run is under way")
	do("pause-all", "nightly report").want(t, misused, "", "unknown command")
	do("pause-all", "--as", "ann", "--for", "1h").want(t, 0, "all jobs are paused", "")
	until(t, "the jobs say so", func() bool {
		for _, j := range decode[[]job](t, do("jobs", "-o", "json")) {
			if !j.Paused || j.Pause.What != "pause all" || j.Pause.By != "ann" {
				return false
			}
		}
		return true
	})
	do("resume-all").want(t, 0, "all jobs are resumed", "")
	until(t, "no job is paused", func() bool {
		return !decode[[]job](t, do("jobs", "-o", "json"))[1].Paused
	})
}

// The work of a tick that was ok is done once more only if the user says so. A tick that failed needs no more than its name.
func TestRerun_OfATickThatWasOKNeedsAYes(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	led(t, c, scheduler.Job{Name: "bad", Spec: "@every 1s", Run: func(context.Context, scheduler.Run) error { return errors.New("no paper") }})
	for job, state := range map[string]string{"good": "ok", "bad": "failed"} {
		var tick string
		until(t, "a tick has run", func() bool {
			for _, r := range decode[pastJSON](t, do("history", job, "-o", "json")).Records {
				if r.State == state {
					tick = r.Tick
				}
			}
			return tick != ""
		})
		if job == "bad" {
			do("rerun", job, tick).want(t, 0, "bad runs again", "")
			continue
		}
		do("rerun", job, tick).want(t, misused, "", `of "good" on pod-1 was ok, nothing was changed: to do its work once more, add --yes`)
		do("rerun", job, tick, "--wait", "1m").want(t, misused, "", "add --yes")
		if all := decode[pastJSON](t, do("history", job, "-o", "json")); len(all.Changes) > 0 {
			t.Errorf("changes %+v", all.Changes)
		}
		do("rerun", job, tick, "--wait", "1m", "--yes").want(t, 0, "good is ok", "")
	}
	do("trigger", "good", "--yes").want(t, misused, "", "unknown flag: --yes")
}
