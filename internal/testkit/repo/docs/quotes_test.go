package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// logging are the folders of the packages whose log lines docs/operations.md lists.
var logging = []string{"redlock", "election", "scheduler", "fxmodule", "dashboard"}

var (
	logCall = regexp.MustCompile(`\.(Debug|Info|Warn|Error)\("([^"]+)"`)
	logRow  = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ((?:debug|info|warn|error)[^|]*)\\|")
	quote   = regexp.MustCompile("(?m)^\\| `([^`]+)`")
)

// Operators search the tables of docs/operations.md for a line of a log. Messages that a variable has are found in the
// sources, but nothing checks their level.
func TestLogs_AreAllInTheTables(t *testing.T) {
	levels, all := map[string]string{}, goSources(t, ".")
	for _, row := range logRow.FindAllStringSubmatch(pages(t)["docs/operations.md"].source, -1) {
		levels[row[1]] += row[2]
		if !strings.Contains(all, `"`+row[1]+`"`) {
			t.Errorf("docs/operations.md: nothing logs %q", row[1])
		}
	}
	calls := 0
	for _, folder := range logging {
		for _, call := range logCall.FindAllStringSubmatch(goSources(t, folder), -1) {
			calls++
			if level, message := strings.ToLower(call[1]), call[2]; !strings.Contains(levels[message], level) {
				t.Errorf("docs/operations.md: the table says level %q for %q, which is logged as %s", levels[message], message, level)
			}
		}
	}
	if calls < 20 {
		t.Errorf("only %d calls were found", calls)
	}
}

// The tables of docs/operations.md quote errors. Each is in the sources, in quotation marks or as a part of a text.
func TestErrors_AreThoseOfTheSources(t *testing.T) {
	_, tables, _ := strings.Cut(pages(t)["docs/operations.md"].source, "\n## Errors by their text")
	tables, _, _ = strings.Cut(tables, "\n## ")
	quotes, all := quote.FindAllStringSubmatch(tables, -1), goSources(t, ".")
	if len(quotes) < 40 {
		t.Errorf("only %d errors were found", len(quotes))
	}
	for _, found := range quotes {
		if !strings.Contains(all, found[1]) {
			t.Errorf("docs/operations.md: no error says %q", found[1])
		}
	}
}
