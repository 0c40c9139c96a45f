package main

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A mutant is one way to break the code.
type mutant struct {
	path  string // of its patch, without .patch
	pkg   string // the folder of the package whose test must fail, from the root of the repository
	test  string
	hunks []hunk
}

// A hunk replaces lines that are in one place of a file.
type hunk struct{ file, before, after string }

var (
	header   = regexp.MustCompile(`^\S.*\.\n\npackage: \./(\S+)\ntest: (Test\S+)\n\n`)
	fileLine = regexp.MustCompile(`(?m)^--- (?:a/)?(\S+)\n\+\+\+ \S+\n`)
	hunkLine = regexp.MustCompile(`(?m)^@@.*\n`)
)

func parse(path, text string) (mutant, error) {
	parts := header.FindStringSubmatch(text)
	if parts == nil {
		return mutant{}, errors.New("has no complete header: begin it with the rule as one sentence on one line, " +
			`an empty line, "package: ./folder", "test: TestName" and an empty line`)
	}
	m := mutant{path: path, pkg: parts[1], test: parts[2]}
	files := fileLine.FindAllStringSubmatchIndex(text, -1)
	for i, at := range files {
		end := len(text)
		if i+1 < len(files) {
			end = files[i+1][0]
		}
		for _, body := range hunkLine.Split(text[at[1]:end], -1)[1:] {
			h, err := parseHunk(text[at[2]:at[3]], body)
			if err != nil {
				return mutant{}, err
			}
			m.hunks = append(m.hunks, h)
		}
	}
	if len(m.hunks) == 0 {
		return mutant{}, errors.New("has no diff, add one made by git diff -U1")
	}
	return m, nil
}

func parseHunk(file, body string) (hunk, error) {
	h := hunk{file: file}
	for line := range strings.Lines(body) {
		switch rest := line[1:]; {
		case line[0] == ' ':
			h.before += rest
			h.after += rest
		case line == "\n": // an empty line whose space an editor has removed
			h.before += line
			h.after += line
		case line[0] == '-':
			h.before += rest
		case line[0] == '+':
			h.after += rest
		case strings.HasPrefix(line, "diff ") || strings.HasPrefix(line, "index "): // git begins another file
		default:
			return h, fmt.Errorf("has the line %q, which begins like none of a diff", strings.TrimSpace(line))
		}
	}
	return h, nil
}

// apply returns what the patch makes of each file that it changes, by their paths from the root.
func (m mutant) apply(root string) (map[string]string, error) {
	changed := map[string]string{}
	for _, h := range m.hunks {
		if _, ok := changed[h.file]; !ok {
			text, err := os.ReadFile(filepath.Join(root, h.file))
			if err != nil {
				return nil, fmt.Errorf("does not apply: there is no file %s, write the patch for the present code", h.file)
			}
			changed[h.file] = string(text)
		}
		mutated, err := h.apply(changed[h.file])
		if err != nil {
			return nil, fmt.Errorf("does not apply: %s %w", h.file, err)
		}
		changed[h.file] = mutated
	}
	for file, text := range changed {
		if filepath.Ext(file) != ".go" {
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution); err != nil {
			return nil, fmt.Errorf("does not compile, write another patch: %w", err)
		}
	}
	return changed, nil
}

func (h hunk) apply(text string) (string, error) {
	text, before := "\n"+text, "\n"+h.before // whole lines
	first := strings.Index(text, before)
	if first < 0 {
		return "", fmt.Errorf("does not have the lines %q, write the patch for the present code", h.before)
	}
	if second := strings.Index(text[first+1:], before); second >= 0 {
		return "", fmt.Errorf("has the lines %q at lines %d and %d, add lines of context", h.before,
			lineAt(text, first), lineAt(text, first+1+second))
	}
	return text[1:first+1] + h.after + text[first+len(before):], nil
}

func lineAt(text string, at int) int { return strings.Count(text[:at+1], "\n") }

// hasTest reports whether the package has the mutant's test. It only looks for its names in the text.
func (m mutant) hasTest(root string) bool {
	var text strings.Builder
	for _, pattern := range []string{m.pkg + "/*_test.go", conformance + "/*.go"} {
		files, _ := filepath.Glob(filepath.Join(root, pattern)) // both patterns are good
		for _, file := range files {
			content, _ := os.ReadFile(file) // a test in a file that cannot be read is not found
			_, _ = text.Write(content)      // never fails
		}
	}
	source := strings.ReplaceAll(text.String(), " ", "_") // as the testing package writes names
	top, sub, _ := strings.Cut(m.test, "/")
	return strings.Contains(source, "\nfunc_"+top+"(") && (sub == "" || strings.Contains(source, `"`+sub+`"`))
}

// conformance is the package with the names of the tests that both kinds of nodes must pass.
const conformance = "internal/conformance"
