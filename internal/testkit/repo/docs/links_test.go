package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]*)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	dropped = regexp.MustCompile("[^a-z0-9 -]")
)

func TestLinks_LeadToFilesAndHeadings(t *testing.T) {
	all := pages(t)
	anchors := map[string]bool{} // as GitHub makes them, but for letters beyond ASCII
	for path, p := range all {
		for _, found := range heading.FindAllStringSubmatch(p.source, -1) {
			id := dropped.ReplaceAllString(strings.ToLower(found[1]), "")
			anchors[path+"#"+strings.ReplaceAll(id, " ", "-")] = true
		}
	}
	checked := 0
	for from, p := range all {
		for _, found := range link.FindAllStringSubmatch(p.prose, -1) {
			file, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(file, ":") {
				continue // elsewhere
			}
			checked++
			to := from
			if file != "" {
				to = path.Join(path.Dir(from), file)
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s: the link to %s: there is no such file", from, found[1])
			} else if anchor != "" && !anchors[to+"#"+anchor] {
				t.Errorf("%s: the link to %s: there is no such heading", from, found[1])
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d links were found", checked)
	}
}
