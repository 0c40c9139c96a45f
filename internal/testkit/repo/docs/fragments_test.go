package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var packageClause = regexp.MustCompile(`(?m)^package `)

// A block of Go that is no whole program is a piece of code that is compiled: of a file, or of a program on a page.
func TestFragments_AreOfCodeThatIsCompiled(t *testing.T) {
	compiled := compiledCode(t)
	fragments := 0
	for _, p := range pages(t) {
		for c := range p.code() {
			if c.language != "go" || isProgram(c) || strings.Contains(c.text, "...") {
				continue // dots stand for code of the reader
			}
			fragments++
			if !strings.Contains(compiled, "\n"+unindented(c.text)) {
				t.Errorf("%s: no file and no program has this piece of code", p.at(c.line))
			}
		}
	}
	if fragments < 5 {
		t.Errorf("only %d pieces of code were found", fragments)
	}
}

func isProgram(c code) bool { return c.language == "go" && packageClause.MatchString(c.text) }

// compiledCode returns the code of all files and of the programs on pages, without indentation.
func compiledCode(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		all.WriteString(unindented(string(text)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages(t) {
		for c := range p.code() {
			if isProgram(c) {
				all.WriteString(unindented(c.text))
			}
		}
	}
	return all.String()
}

func unindented(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n") + "\n"
}
