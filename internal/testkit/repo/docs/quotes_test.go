package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	table "github.com/yuin/goldmark/extension/ast"
)

// logging are the packages whose log lines docs/operations.md lists.
var logging = []string{"./redlock", "./election", "./scheduler", "./fxmodule", "./dashboard"}

var logCall = regexp.MustCompile(`\.(Debug|Info|Warn|Error)\("([^"]+)"`)

// Operators search the tables of docs/operations.md for a line of a log. Messages that a variable has are found in the
// sources, but nothing checks their level.
func TestLogs_AreAllInTheTables(t *testing.T) {
	listed := listedMessages(t)
	calls := 0
	for _, folder := range logging {
		for _, call := range logCall.FindAllStringSubmatch(goSources(t, folder), -1) {
			calls++
			if level, message := strings.ToLower(call[1]), call[2]; !slices.Contains(listed[message], level) {
				t.Errorf("docs/operations.md: the table says level %q for %q, which is logged as %s", listed[message], message, level)
			}
		}
	}
	if calls < 20 {
		t.Errorf("only %d calls were found", calls)
	}
	all := goSources(t, ".")
	for message := range listed {
		if !strings.Contains(all, `"`+message+`"`) {
			t.Errorf("docs/operations.md: nothing logs %q", message)
		}
	}
}

// listedMessages reads the tables whose first two columns are message and level.
func listedMessages(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	p := pages(t)["docs/operations.md"]
	for n := range p.nodes() {
		row, ok := n.(*table.TableRow)
		if !ok {
			continue
		}
		head, cell := row.Parent().FirstChild().FirstChild(), row.FirstChild()
		if p.plain(head) == "message" && p.plain(head.NextSibling()) == "level" {
			for level := range strings.SplitSeq(p.plain(cell.NextSibling()), ",") {
				found[p.plain(cell)] = append(found[p.plain(cell)], strings.TrimSpace(level))
			}
		}
	}
	return found
}

// The table of docs/faq.md quotes errors. Each is in the sources, in quotation marks or as the beginning or end of a text.
func TestErrors_AreThoseOfTheSources(t *testing.T) {
	_, table, found := strings.Cut(string(pages(t)["docs/faq.md"].source), "## Errors by their text")
	if !found {
		t.Fatal("docs/faq.md has no table of errors")
	}
	all, quoted := goSources(t, "."), 0
	for line := range strings.Lines(table) {
		cell, ok := strings.CutPrefix(line, "| `")
		if !ok {
			continue
		}
		quoted++
		if text, _, _ := strings.Cut(cell, "`"); !strings.Contains(all, text) {
			t.Errorf("docs/faq.md: no error says %q", text)
		}
	}
	if quoted < 15 {
		t.Errorf("only %d errors were found", quoted)
	}
}

// goSources returns the text of all Go files below a folder, without tests.
func goSources(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	err := fs.WalkDir(os.DirFS(root), filepath.Clean(folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
