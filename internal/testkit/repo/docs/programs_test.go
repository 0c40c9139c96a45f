package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var packageClause = regexp.MustCompile(`(?m)^package (\w+)$`)

// A block of Go is a program, or a piece of code that is compiled: of a file, or of a program on a page.
func TestPrograms_CompileAndTestsPass(t *testing.T) {
	var compiled strings.Builder
	walk(t, ".", ".go", func(_, text string) { compiled.WriteString(unindented(text)) })
	var programs, fragments []string
	at := map[string]string{} // where each of them is
	for _, p := range pages(t) {
		for _, c := range p.code {
			if c.language != "go" {
				continue
			}
			at[c.text] = p.at(c.line)
			switch {
			case strings.HasPrefix(c.text, "package "):
				programs = append(programs, c.text)
				compiled.WriteString(unindented(c.text))
			case packageClause.MatchString(c.text): // it needs a module of its own
			case !strings.Contains(c.text, "..."): // dots stand for code of the reader
				fragments = append(fragments, c.text)
			}
		}
	}
	if len(programs) < 4 || len(fragments) < 5 {
		t.Errorf("only %d programs and %d pieces of code were found", len(programs), len(fragments))
	}
	for _, text := range fragments {
		if !strings.Contains(compiled.String(), "\n"+unindented(text)) {
			t.Errorf("%s: no file and no program has this piece of code", at[text])
		}
	}
	for _, text := range programs {
		t.Run(at[text], func(t *testing.T) {
			name, verb := "main.go", "vet"
			if strings.Contains(text, "\nfunc Test") {
				name, verb = "main_test.go", "test"
			}
			// The file is outside the repository, so that it cannot import internal packages.
			file := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "go", verb, file)
			cmd.Dir = root
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func unindented(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n") + "\n"
}

// The first program that a reader sees is whole, and fits on a quarter of a screen.
func TestPrograms_TheFirstOneIsWholeAndShort(t *testing.T) {
	firsts := map[string]bool{"README.md": false, "docs/getting-started.md": false}
	for _, p := range pages(t) {
		if seen, ok := firsts[p.path]; !ok || seen || len(p.code) == 0 {
			continue
		}
		for _, c := range p.code {
			if c.language != "go" {
				continue
			}
			firsts[p.path] = true
			if n := strings.Count(strings.TrimSpace(c.text), "\n") + 1; n > 14 || !strings.HasPrefix(c.text, "package main\n") {
				t.Errorf("%s: it has %d lines, 14 are allowed, and begins with %.12q", p.at(c.line), n, c.text)
			}
			break
		}
	}
	for path, seen := range firsts {
		if !seen {
			t.Errorf("%s has no program", path)
		}
	}
}
