// Package examples builds every example where a reader pastes it: in a module that requires this one, and nothing that this
// one does not require.
package examples

import (
	"cmp"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	root    = "../../../.."
	library = "github.com/redlockfx/redlockfx"
)

func TestExamples_BuildWhenCopied(t *testing.T) {
	owners := examples(t)
	if len(owners["."]) < 20 || len(owners) < 5 {
		t.Fatalf("found only %v", owners)
	}
	for owner, files := range owners {
		t.Run(owner, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range files {
				write(t, filepath.Join(dir, file), read(t, file))
			}
			write(t, filepath.Join(dir, "go.mod"), goMod(t, owner))
			write(t, filepath.Join(dir, "go.sum"), read(t, filepath.Join(owner, "go.sum")))
			vet := exec.CommandContext(t.Context(), "go", "vet", "-mod=mod", "./...") // compiles test files too
			vet.Dir = dir
			vet.Env = append(os.Environ(), "GOWORK=off")
			if out, err := vet.CombinedOutput(); err != nil {
				report(t, err, string(out))
			}
		})
	}
}

// examples returns the files of the example programs and of the godoc examples, by the folder of their module.
func examples(t *testing.T) map[string][]string {
	t.Helper()
	found := make(map[string][]string)
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		program := strings.HasPrefix(path, "examples/") || filepath.Base(filepath.Dir(path)) == "example"
		if program && strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "example_test.go") {
			owner := filepath.Dir(path)
			for !exists(filepath.Join(owner, "go.mod")) {
				owner = filepath.Dir(owner)
			}
			found[owner] = append(found[owner], path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var (
	moduleLine  = regexp.MustCompile(`(?m)^module (\S+)$`)
	replacement = regexp.MustCompile(`=> (\.\S*)`)
)

// goMod returns the go.mod of a module that requires what owner does, in the same versions, so that nothing has to be
// looked up. It requires owner as well, unless that is an example itself.
func goMod(t *testing.T, owner string) string {
	t.Helper()
	text := read(t, filepath.Join(owner, "go.mod"))
	path := moduleLine.FindStringSubmatch(text)[1]
	text = moduleLine.ReplaceAllString(text, "module pasted")
	text = replacement.ReplaceAllStringFunc(text, func(s string) string {
		return "=> " + absolute(t, filepath.Join(owner, strings.TrimPrefix(s, "=> ")))
	})
	if !strings.HasPrefix(owner, "examples/") {
		text += "\nrequire " + path + " v0.0.0\n\nreplace " + path + " => " + absolute(t, owner) + "\n"
	}
	if path != library && !strings.Contains(text, library+" => ") {
		text += "\nreplace " + library + " => " + absolute(t, ".") + "\n"
	}
	return text
}

var problem = regexp.MustCompile(`(?m)^(?:vet: )?\s*(\S+\.go:\d+):\d+: (.*)$`)

// report fails the test with one line for each example that does not build.
func report(t *testing.T, err error, out string) {
	t.Helper()
	reported := make(map[string]bool)
	for _, p := range problem.FindAllStringSubmatch(out, -1) {
		if example := filepath.Dir(p[1]); !reported[example] {
			reported[example] = true
			todo := ": make it build outside of the repository"
			if strings.Contains(p[2], "internal package") {
				todo = ": use redlocktest or redlock.Open"
			}
			t.Errorf("%s does not build when copied: %s%s", p[1], p[2], todo)
		}
	}
	if len(reported) == 0 {
		t.Errorf("go vet: %v: %s", err, cmp.Or(out, "no output"))
	}
}

func exists(file string) bool {
	_, err := os.Stat(filepath.Join(root, file))
	return err == nil
}

func absolute(t *testing.T, folder string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, folder))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
