package doctest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link      = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]+)\)`)
	reference = regexp.MustCompile(`(?m)^ *\[[^\]]+\]: *(\S+)`)
	elsewhere = regexp.MustCompile(`^(https?|mailto):`)
)

func TestLinks_LeadToFilesAndHeadings(t *testing.T) {
	checked := 0
	for _, p := range pages(t) {
		for _, text := range p.prose {
			prose := span.ReplaceAllString(text.text, "code")
			var targets []string
			for _, found := range link.FindAllStringSubmatch(prose, -1) {
				targets = append(targets, found[2])
			}
			for _, found := range reference.FindAllStringSubmatch(prose, -1) {
				targets = append(targets, found[1])
			}
			for _, target := range targets {
				if elsewhere.MatchString(target) {
					continue
				}
				checked++
				if problem := broken(t, p, target); problem != "" {
					t.Errorf("%s: the link to %s: %s", at(p.path, text.line), target, problem)
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d links were found", checked)
	}
}

// broken is what is wrong with a link within the repository.
func broken(t *testing.T, from page, target string) string {
	file, anchor, _ := strings.Cut(target, "#")
	to := from
	if file != "" {
		path := filepath.Join(filepath.Dir(from.path), file)
		if _, err := os.Stat(path); err != nil {
			return "there is no such file"
		}
		if anchor == "" {
			return ""
		}
		if filepath.Ext(path) != ".md" {
			return "only pages have headings"
		}
		to = read(t, path)
	}
	if !slices.Contains(to.anchors(), anchor) {
		return "there is no such heading"
	}
	return ""
}
