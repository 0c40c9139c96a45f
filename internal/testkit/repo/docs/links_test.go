package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
)

var elsewhere = regexp.MustCompile(`^(https?|mailto):`)

func TestLinks_LeadToFilesAndHeadings(t *testing.T) {
	all := pages(t)
	checked := 0
	for _, p := range all {
		for n := range p.nodes() {
			var target string
			switch n := n.(type) {
			case *ast.Link:
				target = string(n.Destination)
			case *ast.Image:
				target = string(n.Destination)
			default:
				continue
			}
			if elsewhere.MatchString(target) {
				continue
			}
			checked++
			if problem := broken(all, p, target); problem != "" {
				t.Errorf("%s: the link to %s: %s", p.at(p.line(n.Pos())), target, problem)
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d links were found", checked)
	}
}

// broken returns what is wrong with a link within the repository.
func broken(all map[string]page, from page, target string) string {
	file, anchor, _ := strings.Cut(target, "#")
	to := from.path
	if file != "" {
		to = path.Join(path.Dir(from.path), file)
	}
	if _, err := os.Stat(filepath.Join(root, to)); err != nil {
		return "there is no such file"
	}
	if anchor == "" {
		return ""
	}
	p, isPage := all[to]
	if !isPage {
		return "only pages have headings"
	}
	for n := range p.nodes() {
		if id, ok := n.AttributeString("id"); ok && string(id.([]byte)) == anchor {
			return ""
		}
	}
	return "there is no such heading"
}
