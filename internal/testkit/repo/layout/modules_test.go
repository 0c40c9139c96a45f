package layout_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

var matrix = regexp.MustCompile(`(?m)^        go: \[(.*)\]$`)

// The two latest minor versions of Go are supported: go.mod allows the older one, and both are tested.
func TestModules_AreTestedOnBothVersionsOfGo(t *testing.T) {
	versions := matrix.FindSubmatch(read(t, filepath.Join(root, ".github/workflows/ci.yml")))
	if versions == nil {
		t.Fatal("the hosted tests have no matrix of versions of Go")
	}
	tested := strings.Split(string(versions[1]), ", ")
	if len(tested) != 2 {
		t.Errorf("the hosted tests run on Go %v, want two versions", tested)
	}
	for folder, file := range modules(t) {
		if want := strings.TrimSuffix(tested[0], ".x") + ".0"; file.Go.Version != want {
			t.Errorf("%s/go.mod needs Go %s, the oldest one tested is %s", folder, file.Go.Version, want)
		}
	}
}

// modules returns the go.mod files of the repository by folder.
func modules(t *testing.T) map[string]*modfile.File {
	t.Helper()
	found := map[string]*modfile.File{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "go.mod" {
			return err
		}
		file, err := modfile.Parse(name, read(t, filepath.Join(root, name)), nil)
		found[path.Dir(name)] = file
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
