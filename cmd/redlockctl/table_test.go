package main

import (
	"strings"
	"testing"
	"time"

	"github.com/redlockfx/redlockfx/internal/ops"
	"github.com/redlockfx/redlockfx/internal/testkit/want"
	"github.com/redlockfx/redlockfx/scheduler"
)

// wideTable has the columns of jobs, with a long name and a long error.
func wideTable() table {
	return table{
		head: []string{"JOB", "NEXT (UTC)", "LAST (UTC)", "OUTCOME", "FAILED", "MISSED", "SPEC", "ZONE OF SPEC", "ERROR, OR WHY NOT"},
		drop: []int{7, 6, 5, 4, 1},
		rows: [][]string{
			{"nightly-invoices-of-all-customers-of-the-north", "Nov 29 02:00", "02:00:00", "failed", "3", "0", "0 2 * * *",
				"Europe/Berlin", strings.Repeat("GET https://rates.example: 503 ", 40) + "\nstack"},
			{"日本語の仕事", "10:15:00", "10:00:00", "ok", "0", "12", "*/15 * * * *", "UTC", ""},
		},
	}
}

func TestTable_FitsATerminal(t *testing.T) {
	for columns, want := range map[int]string{
		60: `
JOB                       LAST (UTC)  OUTCOME  ERROR, OR WH…
nightly-invoices-of-all…  02:00:00    failed   GET https://…
日本語の仕事              10:00:00    ok`,
		80: `
JOB                        NEXT (UTC)    LAST (UTC)  OUTCOME  ERROR, OR WHY NOT
nightly-invoices-of-all-…  Nov 29 02:00  02:00:00    failed   GET https://rates…
日本語の仕事               10:15:00      10:00:00    ok`,
		120: `
JOB                                  NEXT (UTC)    LAST (UTC)  OUTCOME  FAILED  MISSED  SPEC          ERROR, OR WHY NOT
nightly-invoices-of-all-customers-…  Nov 29 02:00  02:00:00    failed   3       0       0 2 * * *     GET https://rates…
日本語の仕事                         10:15:00      10:00:00    ok       0       12      */15 * * * *`,
	} {
		var out strings.Builder
		if err := wideTable().write(&out, columns); err != nil || strings.TrimSpace(out.String()) != strings.TrimSpace(want) {
			t.Errorf("%d columns, %v:\n%swant%s", columns, err, out.String(), want)
		}
		for line := range strings.Lines(out.String()) {
			if n := wideOf(strings.TrimSpace(line)); n > columns {
				t.Errorf("%d columns: a line has %d", columns, n)
			}
		}
	}
	var all strings.Builder
	want.NoError(t, wideTable().write(&all, 0))
	want.Parts(t, "a table in a file", all.String(), "nightly-invoices-of-all-customers-of-the-north", "ZONE OF SPEC", strings.Repeat("503 GET https://rates.example: ", 39))
}

// A table in a file, for a program that reads it nevertheless, or of a job that cannot be read.
func TestJobs_OfOneThatCannotBeRead(t *testing.T) {
	now := time.Now()
	sick := ops.JobOf(&scheduler.Status{Job: "sick", Reason: "its state has another layout"}, now)
	if got := strings.Join(rowOf(&sick, now), "|"); got != "sick|-|-|-|?|?|||its state has another layout" {
		t.Errorf("%s", got)
	}
}
