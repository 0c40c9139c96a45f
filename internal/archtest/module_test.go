// Package archtest_test holds the architecture as tests: which package may reach which, where
// goroutines start, and how long a file may be. Packages of this module are written ./redlock,
// others by their import path.
package archtest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redlockfx/redlockfx/internal/golist"
)

// library is what users import. What these packages reach of this module ships with them.
var library = []string{"./redlock", "./election", "./scheduler", "./fxmodule", "./dashboard", "./adapters/leadercron",
	"./adapters/leaderhttp", "./adapters/slogcore"}

const maxLines = 300

func TestFiles_StayShort(t *testing.T) {
	for name, p := range module(t) {
		for _, file := range p.files() {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if lines := bytes.Count(text, []byte("\n")); lines > maxLines {
				t.Errorf("%s/%s has %d lines, more than %d: is it still one concept?",
					name, filepath.Base(file), lines, maxLines)
			}
		}
	}
}

type pkg struct {
	ImportPath, Dir         string
	GoFiles, IgnoredGoFiles []string
	Deps                    []string // what it reaches, itself or through others; without its tests
	Error                   *listError
	DepsErrors              []*listError
}

type listError struct{ Err string }

// files are the non-test files, those for other systems too.
func (p pkg) files() []string {
	var paths []string
	for _, file := range slices.Concat(p.GoFiles, p.IgnoredGoFiles) {
		if !strings.HasSuffix(file, "_test.go") {
			paths = append(paths, filepath.Join(p.Dir, file))
		}
	}
	return paths
}

// module is every package of this module by name, or the end of the test: a package that is not
// seen breaks no rule.
func module(t *testing.T) map[string]pkg {
	t.Helper()
	packages, err := list()
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

var list = sync.OnceValues(func() (map[string]pkg, error) {
	const fields = "-json=ImportPath,Dir,GoFiles,IgnoredGoFiles,Deps,Error,DepsErrors"
	root := filepath.Join("..", "..")
	if err := openFolders(root); err != nil {
		return nil, err
	}
	found, err := golist.Packages[pkg](root, "-e", fields, "./...")
	if err != nil {
		return nil, err
	}

	packages := map[string]pkg{}
	var problems []error
	for _, p := range found {
		for i, path := range p.Deps {
			p.Deps[i] = short(path)
		}
		packages[short(p.ImportPath)] = p
		for _, e := range append(p.DepsErrors, p.Error) {
			if e != nil {
				problems = append(problems, fmt.Errorf("%s: %s", short(p.ImportPath), e.Err))
			}
		}
	}
	for _, name := range library {
		if _, ok := packages[name]; !ok {
			problems = append(problems, fmt.Errorf("no package %s", name))
		}
	}
	return packages, errors.Join(problems...)
})

// openFolders makes go test see what go list reads: a cached result counts until something
// changes in a folder that the test itself opened.
func openFolders(root string) error {
	return filepath.WalkDir(root, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == ".git" {
			return fs.SkipDir
		}
		return err
	})
}

func short(path string) string {
	if rest, ours := strings.CutPrefix(path, "github.com/redlockfx/redlockfx"); ours {
		return "." + rest
	}
	return path
}
