// Package docs_test keeps what is written about the library true: its tests compare the Markdown pages of the
// repository with the sources, and compile the programs in them.
package docs_test

import (
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

const root = "../../../.."

// page is a Markdown file. Its path starts at the root of the repository.
type page struct {
	path   string
	source []byte
	tree   ast.Node
}

// pages returns all Markdown files of the repository by their paths.
func pages(t *testing.T) map[string]page {
	t.Helper()
	all, err := parseOnce()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var parseOnce = sync.OnceValues(func() (map[string]page, error) {
	all := map[string]page{}
	// The ids that goldmark gives to headings are those of GitHub, but for "_" and letters beyond ASCII in a heading.
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		source, err := os.ReadFile(filepath.Join(root, path))
		all[path] = page{path, source, markdown.Parser().Parse(text.NewReader(source))}
		return err
	})
	if err == nil && len(all) < 15 {
		err = fmt.Errorf("only %d pages were found", len(all))
	}
	return all, err
})

// nodes yields what the page consists of, from top to bottom.
func (p page) nodes() iter.Seq[ast.Node] {
	return func(yield func(ast.Node) bool) {
		_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if entering && !yield(n) {
				return ast.WalkStop, nil
			}
			return ast.WalkContinue, nil
		})
	}
}

// code is a block of code, or a span of it within a line.
type code struct {
	text     string
	line     int
	language string
	span     bool
}

func (p page) code() iter.Seq[code] {
	return func(yield func(code) bool) {
		for n := range p.nodes() {
			var c code
			switch n := n.(type) {
			case *ast.CodeSpan:
				c = code{text: p.plain(n), line: p.line(n.Pos()), span: true}
			case *ast.CodeBlock, *ast.FencedCodeBlock:
				if n.Lines().Len() == 0 {
					continue
				}
				c = code{text: string(n.Lines().Value(p.source)), line: p.line(n.Lines().At(0).Start)}
				if fenced, ok := n.(*ast.FencedCodeBlock); ok {
					c.language = string(fenced.Language(p.source))
				}
			default:
				continue
			}
			if !yield(c) {
				return
			}
		}
	}
}

// plain returns the text of an inline node, or of a cell of a table, on one line.
func (p page) plain(n ast.Node) string {
	var plain strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if text, ok := n.(*ast.Text); ok && entering {
			plain.Write(text.Value(p.source))
		}
		return ast.WalkContinue, nil
	})
	return strings.ReplaceAll(plain.String(), "\n", " ")
}

// line returns the number of the line that has the byte at offset.
func (p page) line(offset int) int {
	return 1 + strings.Count(string(p.source[:offset]), "\n")
}

// at returns the place of a line for messages.
func (p page) at(line int) string {
	return fmt.Sprintf("%s:%d", p.path, line)
}
