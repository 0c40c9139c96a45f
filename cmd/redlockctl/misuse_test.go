package main

import (
	"strings"
	"testing"
	"time"
)

func TestMisuse_IsAnsweredWithOneLine(t *testing.T) {
	t.Setenv("REDLOCK_NODES", "")
	t.Setenv("REDLOCK_ELECTION", "")
	const node = "127.0.0.1:1"
	for complaint, args := range map[string][]string{
		"unknown flag: --colour":                                  {"leader", "--colour"},
		`unknown command "histroy": did you mean "history"?`:      {"histroy"},
		"no election: give --election":                            {"leader", "-n", node},
		`--output "xml" must be table or json`:                    {"nodes", "-n", node, "-o", "xml"},
		"--every 1ms must be at least 100ms":                      {"nodes", "-n", node, "--every", "1ms"},
		"accepts 1 arg(s), received 2":                            {"pause", "a", "b", "-n", node, "-e", "x"},
		"no lock: give --name":                                    {"run", "-n", node, "--", "true"},
		"--grace 8s must be above 0 and at most half the ttl, 5s": {"run", "-n", node, "--name", "x", "--grace", "8s", "--", "true"},
		"minute":     {"next", "61 * * * *"},
		"key prefix": {"nodes", "-n", node, "--prefix", "a b"},
		`name "billing " must not begin or end with white space`: {"leader", "-n", node, "-e", "billing "},
	} {
		r := call(args...)
		if r.code != misused || strings.Count(r.err, "\n") != 1 || !strings.HasPrefix(r.err, "redlockctl: ") ||
			!strings.Contains(r.err, complaint) || r.out != "" {
			t.Errorf("%v: %+v, want %q", args, r, complaint)
		}
	}
	call("run", "-n", node, "--name", "x", "--", "no-such-command").want(t, notFound, "", "no-such-command")
	call("run", "-n", node, "--name", "x", "--", "/etc/passwd").want(t, notRunnable, "", "permission denied")
}

func TestNext_AsksNobody(t *testing.T) {
	r := call("next", "CRON_TZ=Europe/Berlin 30 2 * * *", "--number", "2", "--from", "2026-11-22T10:00:00Z")
	r.want(t, 0, "2026-11-23 01:30:00", "")
	ticks := decode[[]time.Time](t, call("next", "@every 90s", "--number", "3", "--from", "2026-11-22T10:00:00Z", "-o", "json"))
	if len(ticks) != 3 || ticks[1].Sub(ticks[0]) != 90*time.Second {
		t.Errorf("%v", ticks)
	}
	call("next", "@at 2026-11-22T09:00:00Z", "--from", "2026-11-22T10:00:00Z").want(t, 0, "none", "")
	if text := call("next", "@at 2026-11-22T09:00:00Z", "--from", "2026-11-22T10:00:00Z", "-o", "json").out; strings.TrimSpace(text) != "[]" {
		t.Errorf("%q", text)
	}
}

func TestVersion_IsThereAlsoWithoutALinker(t *testing.T) {
	call("--version").want(t, 0, "redlockctl version ", "")
	if v := versionText(); v == "" || v == "unknown" {
		t.Errorf("it is %q", v)
	}
}
