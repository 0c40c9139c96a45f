// Package examples checks that every example works where a reader pastes it: in a module of the reader's.
package examples

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../../../.."

// What a reader cannot have are internal packages, and what other test files beside a godoc example declare. That each
// example compiles where it is shows the rest.
func TestExamples_BuildWhenCopied(t *testing.T) {
	found := 0
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		program := strings.HasPrefix(path, "examples/") || filepath.Base(filepath.Dir(path)) == "example"
		isGodoc := strings.HasSuffix(path, "example_test.go")
		if !strings.HasSuffix(path, ".go") || !program && !isGodoc {
			return nil
		}
		found++
		text, err := os.ReadFile(filepath.Join(root, path))
		if strings.Contains(string(text), `"github.com/redlockfx/redlockfx/internal/`) {
			t.Errorf("%s imports an internal package: use redlocktest or redlock.Open", path)
		}
		if isGodoc {
			vet := exec.CommandContext(t.Context(), "go", "vet", filepath.Base(path)) // without the files beside it
			vet.Dir = filepath.Join(root, filepath.Dir(path))
			if out, err := vet.CombinedOutput(); err != nil {
				t.Errorf("%s does not build when copied: %s", path, out)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 25 {
		t.Errorf("only %d examples were found", found)
	}
}
