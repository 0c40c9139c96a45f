// Package layout_test checks how the sources are laid out: which package may import which, and how long a file may
// be. Packages of the library's module are written ./redlock, others by their import path.
package layout_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	root     = "../../../.."
	maxLines = 400
)

func TestFiles_StayShort(t *testing.T) {
	counted := map[string]int{}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case filepath.Ext(path) != ".go" && filepath.Ext(path) != ".lua":
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if lines := bytes.Count(text, []byte("\n")); lines > maxLines {
			t.Errorf("%s has %d lines, more than %d: is it still one concept?", path, lines, maxLines)
		}
		counted[filepath.Ext(path)]++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if counted[".go"] < 200 || counted[".lua"] < 5 {
		t.Errorf("only these files were found: %v", counted)
	}
}
