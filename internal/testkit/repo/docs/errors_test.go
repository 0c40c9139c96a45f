package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The table of docs/faq.md quotes errors. Each is in the sources, in quotation marks or as the beginning or end of a text.
func TestErrors_AreThoseOfTheSources(t *testing.T) {
	var sources strings.Builder
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		sources.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(pages(t)["docs/faq.md"].source), "## Errors by their text")
	if !found {
		t.Fatal("docs/faq.md has no table of errors")
	}
	quoted := 0
	for line := range strings.Lines(table) {
		cell, ok := strings.CutPrefix(line, "| `")
		if !ok {
			continue
		}
		quoted++
		text, _, _ := strings.Cut(cell, "`")
		if !strings.Contains(sources.String(), text) {
			t.Errorf("docs/faq.md: no error says %q", text)
		}
	}
	if quoted < 15 {
		t.Errorf("only %d errors were found", quoted)
	}
}
