package layout_test

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

const libraryPath = "github.com/redlockfx/redlockfx"

// A module that users fetch has a go.work for development, as a replace directive would be ignored in their builds and go
// install refuses it. Nobody fetches the others: they replace what they use of this repository by its folder.
func TestModules_AreReleasedOrLocal(t *testing.T) {
	released := 0
	for folder, file := range modules(t) {
		ours := map[string]string{} // required version by path
		for _, r := range file.Require {
			if covers(libraryPath, r.Mod.Path) {
				ours[r.Mod.Path] = r.Mod.Version
			}
		}
		name := path.Join(folder, "go.work")
		text, err := os.ReadFile(filepath.Join(root, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			for _, r := range file.Replace {
				delete(ours, r.Old.Path)
			}
			if len(ours) > 0 {
				t.Errorf("%s/go.mod does not replace %v: is it released? Then it needs a go.work", folder, ours)
			}
			continue
		case err != nil:
			t.Fatal(err)
		}
		released++
		if len(file.Replace) > 0 {
			t.Errorf("%s/go.mod has replace directives: users' builds ignore them, and go install refuses the module", folder)
		}
		work, err := modfile.ParseWork(name, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		var used []string
		for _, u := range work.Use {
			used = append(used, path.Join(folder, u.Path))
		}
		if !slices.Equal(used, []string{folder, "."}) {
			t.Errorf("%s uses %v, want the module and the library", name, used)
		}
		// Without this, the go command asks the module proxy for a version that may not be there yet.
		if len(work.Replace) != 1 || work.Replace[0].Old.Path != libraryPath || work.Replace[0].Old.Version != ours[libraryPath] {
			t.Errorf("%s must replace %s %s by its folder, as this is the version in go.mod", name, libraryPath, ours[libraryPath])
		}
	}
	if released < 3 {
		t.Errorf("only %d modules are released", released)
	}
}

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
