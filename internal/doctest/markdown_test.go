package doctest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// page is a Markdown file, taken apart.
type page struct {
	path     string
	prose    []passage // paragraphs, tables and headings: without blocks of code
	code     []passage // blocks and spans of code
	headings []string
}

// passage is a piece of a page.
type passage struct {
	text string
	line int
	lang string // of a fenced block
	span bool
}

var (
	heading = regexp.MustCompile(`^#{1,6} +(.+?) *#*$`)
	span    = regexp.MustCompile("`([^`]+)`")
	fence   = regexp.MustCompile("^ *(```+|~~~+) *([a-z]*)")
)

// pages are those at the root and in docs.
func pages(t *testing.T) []page {
	t.Helper()
	var all []page
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			all = append(all, read(t, path))
		}
	}
	for _, name := range []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/operations.md"} {
		if !slices.ContainsFunc(all, func(p page) bool { return p.path == filepath.Join(root, name) }) {
			t.Fatalf("there is no %s", name)
		}
	}
	return all
}

func read(t *testing.T, path string) page {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := page{path: path}
	var open passage // that lines are added to
	isCode := false
	flush := func() {
		if strings.TrimSpace(open.text) != "" {
			if isCode {
				p.code = append(p.code, open)
			} else {
				p.addProse(open)
			}
		}
		open, isCode = passage{}, false
	}
	fenced := ""
	for i, line := range strings.Split(string(text), "\n") {
		mark := fence.FindStringSubmatch(line)
		indented := strings.HasPrefix(line, "    ")
		switch {
		case fenced != "" && strings.TrimSpace(line) == fenced:
			fenced = ""
			flush()
			continue
		case fenced != "":
		case mark != nil:
			flush()
			fenced, isCode = mark[1], true
			open.lang, open.line = mark[2], i+2
			continue
		case strings.TrimSpace(line) == "":
			flush()
			continue
		case open.text == "" && indented:
			isCode = true
		case isCode && !indented, heading.MatchString(line):
			flush()
		}
		if open.line == 0 {
			open.line = i + 1
		}
		open.text += line + "\n"
		if !isCode && heading.MatchString(line) {
			flush()
		}
	}
	if fenced != "" {
		t.Errorf("%s: a block of code has no end", at(path, open.line))
	}
	flush()
	return p
}

func (p *page) addProse(text passage) {
	if h := heading.FindStringSubmatch(strings.TrimRight(text.text, "\n")); h != nil {
		p.headings = append(p.headings, h[1])
	}
	p.prose = append(p.prose, text)
	for _, found := range span.FindAllStringSubmatchIndex(text.text, -1) {
		p.code = append(p.code, passage{
			text: strings.ReplaceAll(text.text[found[2]:found[3]], "\n", " "), span: true,
			line: text.line + strings.Count(text.text[:found[2]], "\n"),
		})
	}
}

var notInAnchors = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)

// anchors are what headings are linked by, as GitHub makes them.
func (p page) anchors() []string {
	var all []string
	for _, h := range p.headings {
		plain := link.ReplaceAllString(h, "$1")
		all = append(all, strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(plain), ""), " ", "-"))
	}
	return all
}
