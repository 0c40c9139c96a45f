// Package docs_test keeps what is written about the library true: its tests compare the Markdown pages of the
// repository with the sources, and compile the programs in them.
package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../../.."

// page is a Markdown file. Its path starts at the root of the repository.
type page struct {
	path, source string
	prose        string // the source without its code, with the same lines
	code         []code
}

// code is a block of code, or a span of it within a line.
type code struct {
	text     string
	line     int
	language string
	span     bool
}

var (
	block = regexp.MustCompile("(?ms)^( *)```(\\w*)\n(.*?)^ *```$|(?:^\n)((?:^    [^\n]*\n)+)")
	span  = regexp.MustCompile("`([^`\n]+(?:\n[^`\n]+)?)`")
)

// pages returns all Markdown files of the repository by their paths.
func pages(t *testing.T) map[string]page {
	t.Helper()
	all := map[string]page{}
	walk(t, ".", ".md", func(path, text string) { all[path] = parse(path, text) })
	if len(all) < 15 {
		t.Fatalf("only %d pages were found", len(all))
	}
	return all
}

func parse(path, source string) page {
	p := page{path: path, source: source, prose: source}
	take := func(form *regexp.Regexp, found func(parts []string, line int)) {
		text := p.prose
		p.prose = form.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) })
		for _, at := range form.FindAllStringSubmatchIndex(text, -1) {
			var parts []string
			for i := 0; i < len(at); i += 2 {
				parts = append(parts, text[max(at[i], 0):max(at[i+1], 0)])
			}
			found(parts, 1+strings.Count(text[:at[0]], "\n"))
		}
	}
	take(block, func(parts []string, line int) {
		indented := regexp.MustCompile("(?m)^" + parts[1])
		p.code = append(p.code, code{text: indented.ReplaceAllString(parts[3], "") + parts[4], line: line + 1, language: parts[2]})
	})
	take(span, func(parts []string, line int) {
		p.code = append(p.code, code{text: strings.ReplaceAll(parts[1], "\n", " "), line: line, span: true})
	})
	return p
}

// at returns the place of a line for messages.
func (p page) at(line int) string { return fmt.Sprintf("%s:%d", p.path, line) }

// goSources returns the text of all Go files below a folder, without tests.
func goSources(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	walk(t, folder, ".go", func(path, text string) {
		if !strings.HasSuffix(path, "_test.go") {
			all.WriteString(text)
		}
	})
	return all.String()
}

// walk reads all files with an extension below a folder.
func walk(t *testing.T, folder, extension string, visit func(path, text string)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case filepath.Ext(path) != extension:
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		visit(path, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
