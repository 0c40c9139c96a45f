package main

import (
	"strings"
	"testing"
)

func TestHistory_TellsWhoChangedWhat(t *testing.T) {
	c := ready(t, servers(t))
	do := on(c)
	leader, _ := service(t, c, "pod-1")
	until(t, "it leads", leader.IsLeader)
	until(t, "the nodes know the job", func() bool { return strings.Contains(do("jobs").out, "nightly report") })
	if all := decode[past](t, do("history", "nightly report", "-o", "json")); all.Changes == nil || len(all.Changes) > 0 {
		t.Errorf("changes before there were any: %+v", all)
	}
	do("pause", "nightly report").want(t, 0, "is paused", "")
	do("resume", "nightly report", "--as", "ann (ticket 7)").want(t, 0, "is resumed", "")
	do("trigger", "nightly report", "--as", "bo").want(t, 0, "is triggered", "")
	do("pause", "nightly report", "--as", "a\x1bb").want(t, misused, "", `who "a\x1bb" must not contain`)

	all := decode[past](t, do("history", "nightly report", "-o", "json"))
	want := []change{{What: "trigger", By: "bo"}, {What: "resume", By: "ann (ticket 7)"}, {What: "pause", By: osUser()}}
	if len(all.Changes) != len(want) {
		t.Fatalf("changes %+v", all.Changes)
	}
	for i, got := range all.Changes {
		if got.What != want[i].What || got.By != want[i].By || got.From != identity() || got.At.IsZero() {
			t.Errorf("change %d is %+v", i, got)
		}
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
